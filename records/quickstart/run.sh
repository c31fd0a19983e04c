#!/usr/bin/env bash
# The quickstart three times in English and three times in Korean: run.sh OUT. Called again it goes on where it stopped.
set -euo pipefail
out=$1 here=$(dirname "$0")
mkdir -p "$out"
for language in en ko; do
  for seed in 0 1 2; do
    folder="$out/$language-$seed"
    [ -f "$folder/result.json" ] || { rm -rf "$folder"; spanwise quickstart --language $language --seed $seed --out "$folder"; }
  done
done
python3 "$here/table.py" "$out"
