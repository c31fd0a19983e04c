#!/usr/bin/env bash
# What each kind of question teaches, at equal steps: run.sh DATA OUT, where OUT is that of shipped-weights after its
# English run. Called again it goes on where it stopped. Some 40 minutes of one core.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0")
mkdir -p "$out/kinds"
python "$here/kinds.py" "$out"
test="$data/qa/squad/dev-v1.1.json.xz"
held_out=$(python -c "from importlib.resources import files; print(files('spanwise.quickstart') / 'corpus/qa-dev.json.xz')")
arm() { # NAME START TRAIN
  local run="$out/kinds/$1"
  [ -d "$run/final" ] || spanwise finetune qa --model "$2" --train "$3" --not-from "$test" --errors repair --out "$run" \
    --set frozen_layers=0 --set hidden_dropout=0 --set batch_size=16 --set task.max_length=384 \
    --set task.doc_stride=128 --set training.learning_rate=4e-4 --set training.max_steps=1000 --set training.threads=1 \
    $([ ! -d "$run" ] || echo --resume)
  [ -f "$run.json" ] || spanwise evaluate qa --model "$run/final" --data "$held_out" --out "$run.json"
  [ -f "$run-reviews.json" ] || spanwise evaluate qa --model "$run/final" \
    --data "$data/qa/squadshifts/amazon_reviews_v1.0.json.xz" --out "$run-reviews.json"
}
arm wiki "$out/selection/final" "$out/kinds/learned-wiki.json"
arm qamr "$out/selection/final" "$out/kinds/learned-qamr.json"
arm made "$out/selection/final" "$out/made.json"
arm wiki-and-qamr "$out/selection/final" "$out/answered.json"
arm wiki-and-qamr-without-selection "${START:?the run folder of records/spanwise-night}/final" "$out/answered.json"
python "$here/kinds.py" "$out" table
