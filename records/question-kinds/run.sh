#!/usr/bin/env bash
# What each kind of question teaches, at equal steps: run.sh DATA OUT. Called again it goes on where it stopped.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0")
mkdir -p "$out"
spanwise() { python3 -m spanwise "$@"; }
squad="$data/qa/squad/dev-v1.1.json.xz"
[ -d "$out/start" ] || spanwise convert spanwise-mini "$out/start" # the encoder and what it was pre-trained with
[ -f "$out/mixed.json" ] || python3 "$here/../shipped-weights/training_questions.py" "$data" "$out"
made() { # NAME NUMBER TEXTS, options: so many questions by rule
  local name=$1 number=$2 texts=$3; shift 3
  [ -f "$out/$name.json" ] || spanwise make-questions $texts --not-from "$squad" --max-questions "$number" \
    --out "$out/$name.json" "$@"
}
text="$data/text/en/wiki-base"
made wh 13000 "$text-00.txt.xz" --forms wh
made cloze 13000 "$text-00.txt.xz" --forms cloze
made recurring 13000 "$(echo "$text"-0{0,1,2,3}.txt.xz)" --kinds recurring
[ -f "$out/wiki.json" ] || python3 "$here/kinds.py" "$data" "$out" cut
teach() { # NAME
  local run="$out/runs/$1" text
  mkdir -p "$out/runs"
  [ -d "$run/final" ] || spanwise finetune qa --model "$out/start" --train "$out/$1.json" --not-from "$squad" --out "$run" \
    --set frozen_layers=0 --set batch_size=16 --set task.max_length=384 --set task.doc_stride=128 \
    --set hidden_dropout=0.1 --set training.learning_rate=5e-4 --set training.max_steps="${STEPS:-250}" \
    --set training.threads=1 $([ ! -d "$run" ] || echo --resume)
  for text in wiki-dev squad reviews; do
    [ -f "$run-$text.json" ] || spanwise evaluate qa --model "$run/final" --data "${files[$text]}" --out "$run-$text.json"
  done
}
declare -A files=([wiki-dev]="$out/wiki-dev.json" [squad]="$out/squad.json" [reviews]="$out/reviews.json")
for kind in ${KINDS:-wiki qamr answered mixed wh filtered own cloze recurring}; do
  case $kind in # filtered by what ships; and by the reader of wh.json, from texts that it has not read
    filtered) made filtered 4000 "$(echo "$text"-0{0,1}.txt.xz)" --forms wh --filter spanwise-mini ;;
    own) made own 4000 "$(echo "$text"-0{1,2,3}.txt.xz)" --forms wh --filter "$out/runs/wh/final" ;;
  esac
  teach "$kind"
done
python3 "$here/kinds.py" "$data" "$out" table
