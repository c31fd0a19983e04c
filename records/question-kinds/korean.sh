#!/usr/bin/env bash
# What a filter is worth to Korean questions made by rule, at equal steps: korean.sh DATA OUT. Called again it goes on where
# it stopped.
set -euo pipefail
data=$1 out=$2
mkdir -p "$out/runs"
spanwise() { python3 -m spanwise "$@"; }
test="$data/qa/korquad/KorQuAD_v1.0_dev.json.xz" # no question is made of an article that shares eight words with it
[ -d "$out/start" ] || spanwise convert spanwise-nano-ko "$out/start" # the encoder and what it was pre-trained with
made() { # NAME NUMBER TEXT, options: so many questions by rule, of the forms that spanwise-nano-ko learned
  local name=$1 number=$2 text="$data/text/ko/kowiki-base-$3.txt.xz"; shift 3
  [ -f "$out/$name.json" ] || spanwise make-questions "$text" --language ko --forms wh --same-sentence 0.9 \
    --not-from "$test" --max-questions "$number" --out "$out/$name.json" "$@"
}
teach() { # NAME SEED
  local run="$out/runs/$1-$2"
  [ -d "$run/final" ] || spanwise finetune qa --model "$out/start" --train "$out/$1.json" --out "$run" --errors repair \
    --set frozen_layers=0 --set batch_size=16 --set task.max_length=384 --set task.doc_stride=128 \
    --set hidden_dropout=0 --set training.learning_rate=4e-4 --set training.max_steps="${STEPS:-250}" \
    --set training.seed="$2" --set training.threads=1 --set task.max_answer_tokens=12 --set task.length_penalty=0.1 \
    $([ ! -d "$run" ] || echo --resume)
  [ -f "$run.json" ] || spanwise evaluate qa --model "$run/final" --data "$test" --out "$run.json"
}
made wh 13000 01
teach wh 0
made filtered 4000 01 --filter spanwise-nano-ko           # which has learned such questions of this text
made own-filtered 4000 00 --filter "$out/runs/wh-0/final" # by a reader of the first 13,000, from text that it has not read
for seed in 0 1 2; do
  for kind in wh filtered own-filtered; do teach "$kind" "$seed"; done
done
python3 - "$out/runs" > "$out/result-korean.json" <<'END'
import json, pathlib, sys
runs = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
print(json.dumps({run.stem: json.loads(run.read_text(encoding="utf-8")) for run in runs}, indent=1))
END
