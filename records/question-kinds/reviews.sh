#!/usr/bin/env bash
# What Amazon's questions would add to those that the weights learned from: reviews.sh DATA OUT [SEED...] (2), in
# run.sh's OUT or another. Called again it goes on where it stopped, and scores the seeds that are named; the two
# readers of a seed are taught at once, on one core each.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0")
seeds=("${@:3}")
[ ${#seeds[@]} != 0 ] || seeds=(2)
mkdir -p "$out/runs"
spanwise() { python3 -m spanwise "$@"; }
[ -d "$out/start" ] || spanwise convert spanwise-mini "$out/start"
[ -f "$out/mixed.json" ] || python3 "$here/../shipped-weights/training_questions.py" "$data" "$out"
[ -f "$out/with-reviews.json" ] || python3 "$here/reviews.py" "$data" "$out" write
teach() { # NAME SEED: as english.sh of ../shipped-weights does, for a third of its steps
  local run="$out/runs/reader-$1-$2"
  [ -d "$run/final" ] || spanwise finetune qa --model "$out/start" --train "$out/$1.json" --out "$run" --set frozen_layers=0 \
    --set batch_size=32 --set task.max_length=384 --set task.doc_stride=128 --set training.learning_rate=5e-4 \
    --set training.max_steps="${STEPS:-1100}" --set training.seed=$2 --set hidden_dropout=0.1 \
    --set task.max_answer_tokens=24 --set task.length_penalty=0.05 --set task.by_overlap=true \
    --set training.threads=1 $([ ! -d "$run" ] || echo --resume) >> "$run.log" 2>&1 ||
    { tail -3 "$run.log" >&2; return 1; }
}
for seed in "${seeds[@]}"; do
  teach mixed "$seed" & first=$!
  teach with-reviews "$seed" & second=$!
  failed=0
  wait $first || failed=1 # each by its number: a plain `wait` forgets that one failed
  wait $second || failed=1
  [ $failed = 0 ] || exit 1
done
python3 "$here/reviews.py" "$data" "$out" score "${seeds[@]}"
