#!/usr/bin/env bash
# Answers of one fine-tuned model in three precisions, and what the rounding costs. Called again it goes on.
# usage: run.sh MODEL DEV_FILE OUT_FOLDER     MODEL: `qa-as-it-came/final` of records/minilm-init/run.sh
set -euo pipefail
model=$1 dev=$2 out=$3
here=$(dirname "$0")
export OMP_NUM_THREADS=1
mkdir -p "$out"
for precision in int8 fp32 bf16; do
  [ -f "$out/$precision.json" ] ||
    python -m spanwise predict qa --model "$model" --input "$dev" --output "$out/$precision.json" --precision $precision
done
python "$here/compare.py" "$dev" "$out"
