#!/usr/bin/env bash
# The Korean weights, from those of spanwise-nano: korean.sh DATA OUT START, where START is the run folder of that record's
# pre-training. Called again it goes on where it stopped. STEPS=120 (more than 100) tries the command itself, on a little of
# the text, in an OUT of its own.
set -euo pipefail
data=$1 out=$2 start=$3/final here=$(dirname "$0")
spanwise() { python3 -m spanwise "$@"; }
held_out=$(python3 -c "from importlib.resources import files; print(files('spanwise.quickstart') / 'corpus/ko/qa-dev.json.xz')")
test="$data/qa/korquad/KorQuAD_v1.0_dev.json.xz" # no question that is learned from is about its paragraphs
mkdir -p "$out"
text() { for name in "$@"; do echo "$data/text/ko/$name.txt.xz"; done; }
resume() { [ ! -d "$out/$1" ] || echo --resume; }
bytes=13000000 all=$(text kowiki-base-0{0,1}) asked=$(text kowiki-base-0{1,0}) # a quarter of the text first: tagging is slow
length() { echo --budget "$1"; }
if [ -n "${STEPS:-}" ]; then
  bytes=500000 all="$out/part.txt" asked="$out/part.txt"
  length() { echo --set "training.max_steps=$STEPS" --set batch.tokens_per_step=2048; }
fi

if [ ! -d "$out/store" ]; then
  xz -dc $(text kowiki-base-00) | head -c $bytes > "$out/part.txt" || true
  spanwise prepare "$out/part.txt" --language ko --tag morphemes --tokenizer "$start" --out "$out/store"
fi
[ -d "$out/valid" ] || spanwise prepare $(text kowiki-valid) --language ko --tag morphemes --tokenizer "$start" \
  --out "$out/valid"
[ -d "$out/selection/final" ] || spanwise pretrain "$here/recipe.py:korean_selection" --init "$start" \
  --data "$out/store" --valid "$out/valid" --out "$out/selection" $(length 20min) --set batch.max_tokens=2048 \
  --set format.max_length=256 --set training.learning_rate=1.5e-3 --set training.warmup_steps=50 \
  --set training.eval_every=200 $(resume selection)
if [ ! -d "$out/all-text" ]; then
  spanwise prepare $all --language ko --tag morphemes --tokenizer "$start" --out "$out/all-text"
fi
[ -d "$out/longer/final" ] || spanwise pretrain "$here/recipe.py:korean_selection" --init "$out/selection/final" \
  --data "$out/all-text" --valid "$out/valid" --out "$out/longer" $(length 38min) --set batch.max_tokens=2048 \
  --set format.max_length=256 --set encoder.hidden_dropout=0 --set training.learning_rate=2e-3 \
  --set training.warmup_steps=100 --set training.eval_every=500 --set training.threads=1 $(resume longer)
[ -f "$out/made.json" ] || spanwise make-questions $asked --language ko --forms wh \
  --same-sentence 0.9 --max-questions 80000 --not-from "$test" --out "$out/made.json"
for seed in 0 2; do # the second with dropout; their mean reads better than either
  [ -d "$out/qa-$seed/final" ] || spanwise finetune qa --out "$out/qa-$seed" --model "$out/longer/final" \
    --train "$out/made.json" --not-from "$test" --errors repair --dev "$held_out" --set frozen_layers=0 \
    --set batch_size=16 --set task.max_length=384 --set task.doc_stride=128 --set training.save_minutes=5 \
    --set training.learning_rate=4e-4 --set training.max_steps=${STEPS:-5600} --set training.seed=$seed \
    --set hidden_dropout=$([ $seed = 0 ] && echo 0 || echo 0.1) --set task.max_answer_tokens=12 \
    --set task.length_penalty=0.1 $(resume qa-$seed)
done
[ -d "$out/qa/final" ] || python3 "$here/average.py" qa "$out/qa" "$held_out" "$out"/qa-{0,2}
