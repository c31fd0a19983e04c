#!/usr/bin/env bash
# The trial from raw text: run.sh DATA OUT. Called again it goes on where it stopped. Two hours of two cores.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0") shipped=$(dirname "$0")/../shipped-weights
mkdir -p "$out"
text() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
resume() { [ ! -d "$out/$1" ] || echo --resume; }
tokenizer=$(python -c "from spanwise.weights import shipped_folder; print(shipped_folder('spanwise-mini'))")
[ -d "$out/store" ] || spanwise prepare $(text wiki-small wiki-base-0{0,1,2,3} wiki-extra-0{0,1,2,3,4,5}) --language en \
  --tokenizer "$tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare $(text wiki-valid) --language en --tokenizer "$tokenizer" --out "$out/valid"
[ -d "$out/reader/final" ] || spanwise pretrain "$here/recipe.py:english_reader" --data "$out/store" \
  --valid "$out/valid" --out "$out/reader" --processes 2 $(resume reader)
teach() { # TASK NAME, options
  local task=$1 name=$2; shift 2
  [ -d "$out/$name/final" ] || spanwise finetune "$task" --model "$out/reader/final" --out "$out/$name" \
    --set frozen_layers=0 "$@" $(resume "$name")
}
[ -f "$out/mixed.json" ] || python "$shipped/training_questions.py" "$data" "$out"
[ -f "$out/names-first.conll" ] || python "$shipped/names.py" "$data" "$out"
xz -dc "$data/coref/ontogum/train.conll.xz" "$data/coref/litbank/train.conll.xz" |
  awk '/^#begin/ { keep = !/_textbook_/ } keep' > "$out/coref-train.conll"
teach qa qa --train "$out/mixed.json" --dev "$out/dev.json" --not-from "$data/qa/squad/dev-v1.1.json.xz" \
  --set hidden_dropout=0 --set batch_size=16 --set task.max_length=384 --set task.doc_stride=128 \
  --set training.learning_rate=4e-4 --set training.budget=1140
teach tagging tagging --train "$out/names-first.conll" --dev "$out/names-dev.conll" --set training.num_epochs=3
teach coref coref --train "$out/coref-train.conll" --dev "$data/coref/ontogum/dev.conll.xz" --recipe small \
  --set hidden_dropout=0 --set training.num_epochs=6 --set training.learning_rate=8e-4 --set training.eval_every=350
