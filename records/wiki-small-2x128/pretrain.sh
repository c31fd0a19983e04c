#!/usr/bin/env bash
# Pre-train both arms with three seeds, two runs at a time with one thread each; call it again to go on.
# usage: pretrain.sh DATA_FOLDER OUT_FOLDER      DATA_FOLDER holds text/en/wiki-small.txt.xz and wiki-valid.txt.xz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer "$data/text/en/wiki-small.txt.xz" --kind wordpiece --vocab-size 4000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare "$data/text/en/wiki-small.txt.xz" --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$data/text/en/wiki-valid.txt.xz" --tokenizer "$out/tokenizer" --out "$out/valid"
export OMP_NUM_THREADS=1
for seed in 0 1 2; do
  for arm in mlm_sbo mlm; do
    spanwise pretrain "$here/arms.py:$arm" --data "$out/store" --valid "$out/valid" --out "$out/$arm-$seed" \
      --set training.seed=$seed --resume > "$out/$arm-$seed.log" 2>&1 &
  done
  wait
done
