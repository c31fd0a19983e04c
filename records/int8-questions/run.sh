#!/usr/bin/env bash
# Answers of one fine-tuned model in three precisions, and what the rounding costs. Called again it goes on.
# usage: run.sh MODEL DEV_FILE OUT_FOLDER [PART...]    MODEL: `qa-as-it-came/final` of records/minilm-init/run.sh
# PART: of the four parts of twelve articles each those to answer (0 1 2 3)
set -euo pipefail
model=$1 dev=$2 out=$3
shift 3
here=$(dirname "$0")
export OMP_NUM_THREADS=1
mkdir -p "$out"
[ -f "$out/part-3.json" ] || python "$here/compare.py" cut "$dev" "$out"
[ $# -gt 0 ] || set -- 0 1 2 3
for part in "$@"; do
  for precision in fp32 bf16 int8; do
    [ -f "$out/$precision-$part.json" ] ||
      python -m spanwise predict qa --model "$model" --input "$out/part-$part.json" --precision $precision \
        --output "$out/$precision-$part.json"
  done
done
python "$here/compare.py" score "$dev" "$out"
