#!/usr/bin/env bash
# The quickstart three times in English and in Korean, and once from scratch: run.sh OUT. Called again it goes on where it stopped.
set -euo pipefail
out=$1 here=$(dirname "$0")
mkdir -p "$out"
go() { # NAME, options
  local folder="$out/$1"; shift
  [ -f "$folder/result.json" ] || { rm -rf "$folder"; spanwise quickstart "$@" --out "$folder"; }
}
for seed in 0 1 2; do
  for language in en ko; do go $language-$seed --language $language --seed $seed; done
done
for language in en ko; do go $language-scratch --language $language --from-scratch; done
python3 "$here/table.py" "$out"
python3 "$here/together.py" "$out"
