#!/usr/bin/env bash
# Train all six systems, one after the other on one thread, and write OUT/result.json and OUT/table.md; call again to go on.
# usage: run.sh DATA OUT [--set training.max_tokens=...]      DATA holds text/en/wiki-small.txt.xz and wiki-valid.txt.xz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2
shift 2
export OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer "$data/text/en/wiki-small.txt.xz" --kind wordpiece --vocab-size 8000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare "$data/text/en/wiki-small.txt.xz" --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$data/text/en/wiki-valid.txt.xz" --tokenizer "$out/tokenizer" --out "$out/valid"
for system in spanbert bert roberta albert electra gpt1; do
  [ -f "$out/$system/final/manifest.json" ] || spanwise pretrain "$here/systems.py:$system" --data "$out/store" \
    --valid "$out/valid" --out "$out/$system" --resume "$@" > "$out/$system.log" 2>&1
done
python "$here/measure.py" "$out"
