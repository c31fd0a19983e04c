#!/usr/bin/env bash
# What ships, taught on 16, 128 and 1,024 questions: run.sh OUT. Called again it goes on where it stopped.
set -euo pipefail
out=$1 here=$(dirname "$0")
corpus=$(python -c "from importlib.resources import files; print(files('spanwise.quickstart') / 'corpus')")
mkdir -p "$out"
for seed in 0 1 2; do
  for number in 1024 128 16; do
    cut=$out/train-$number-$seed.json
    [ -f "$cut" ] || python "$here/draw.py" "$corpus/qa-train.json.xz" $number $seed "$cut"
    for words in marked unmarked; do
      run=$out/$words-$number-$seed
      [ -f "$run.json" ] && continue
      rm -rf "$run"
      spanwise finetune qa --out "$run" --model spanwise-mini --from-base --train "$cut" --set batch_size=16 \
        --set task.max_length=384 --set task.doc_stride=128 --set task.shared_words=$words --set training.seed=$seed \
        --set training.max_steps=$((number > 128 ? 400 : 200)) --set training.threads=1
      spanwise evaluate qa --model "$run/final" --data "$corpus/qa-dev.json.xz" --json > "$run.part"
      mv "$run.part" "$run.json"
      rm -rf "$run"
    done
  done
done
python "$here/draw.py" table "$out"
