#!/usr/bin/env bash
# Pre-train both arms with three seeds, two runs at a time with one thread each; call it again to go on.
# usage: pretrain.sh DATA_FOLDER OUT_FOLDER      DATA_FOLDER holds text/en/wiki-small.txt.xz and wiki-valid.txt.xz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1
export here out=$2 OMP_NUM_THREADS=1
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer "$data/text/en/wiki-small.txt.xz" --kind wordpiece --vocab-size 4000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare "$data/text/en/wiki-small.txt.xz" --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$data/text/en/wiki-valid.txt.xz" --tokenizer "$out/tokenizer" --out "$out/valid"
one() {
  [ -f "$out/$1-$2/final/manifest.json" ] || spanwise pretrain "$here/arms.py:$1" --data "$out/store" \
    --valid "$out/valid" --out "$out/$1-$2" --set training.seed="$2" --resume > "$out/$1-$2.log" 2>&1
}
export -f one
for seed in 0 1 2; do printf '%s %s\n' mlm_sbo "$seed" mlm "$seed"; done | xargs -P 2 -L 1 bash -c 'one "$0" "$1"'
