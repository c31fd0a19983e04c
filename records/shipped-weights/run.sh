#!/usr/bin/env bash
# The weights in the package, from those of spanwise-night (or, with ko, of spanwise-nano): run.sh DATA OUT START [ko].
# START is the run folder of that record's pre-training. Called again it goes on where it stopped.
set -euo pipefail
data=$1 out=$2 start=$3/final language=${4:-en} here=$(dirname "$0")
held_out=$(python -c "from importlib.resources import files; print(files('spanwise.quickstart') / 'corpus')")
mkdir -p "$out"
text() { for name in "$@"; do echo "$data/text/$language/$name.txt.xz"; done; }
resume() { [ ! -d "$out/$1" ] || echo --resume; }
teach() { # TASK NAME, options
  local task=$1 name=$2; shift 2
  [ -d "$out/$name/final" ] || spanwise finetune "$task" --out "$out/$name" --set frozen_layers=0 "$@" $(resume "$name")
}
questions="--set batch_size=16 --set task.max_length=384 --set task.doc_stride=128 \
 --set training.save_minutes=5"
select="--budget 20min --set batch.max_tokens=2048 --set format.max_length=256 --set training.learning_rate=1.5e-3 \
 --set training.warmup_steps=50 --set training.eval_every=200"
if [ "$language" = en ]; then
  test="$data/qa/squad/dev-v1.1.json.xz"
  [ -d "$out/store" ] || spanwise prepare $(text wiki-base-0{0,1,2,3} wiki-extra-0{0,1,2,3}) --language en \
    --tokenizer "$start" --out "$out/store"
  [ -d "$out/valid" ] || spanwise prepare $(text wiki-valid) --language en --tokenizer "$start" --out "$out/valid"
  [ -d "$out/selection/final" ] || spanwise pretrain spanbert-selection-mini --init "$start" --data "$out/store" \
    --valid "$out/valid" --out "$out/selection" --processes 2 $select $(resume selection)
  # Then all three objectives on all the text, in sequences as long as the windows of questions, without dropout
  if [ ! -d "$out/all-text" ]; then
    spanwise prepare $(text wiki-small wiki-base-0{0,1,2,3} wiki-extra-0{0,1,2,3,4,5}) --language en --tokenizer "$start" \
      --out "$out/all-text"
  fi
  go_on() { # FROM NAME, options
    local from=$1 name=$2; shift 2
    [ -d "$out/$name/final" ] || spanwise pretrain spanbert-selection-mini --init "$out/$from/final" \
      --data "$out/all-text" --valid "$out/valid" --out "$out/$name" --processes 2 --set batch.max_tokens=2048 \
      --set format.max_length=384 --set encoder.hidden_dropout=0 --set training.learning_rate=2e-3 \
      --set training.warmup_steps=100 --set training.eval_every=1000 "$@" $(resume "$name")
  }
  go_on selection longer --budget 70min
  go_on longer longest --budget 76min --set training.seed=2 # the text in another order
  base=$out/longest/final
  [ -f "$out/mixed.json" ] || python "$here/training_questions.py" "$data" "$out"
  # Two readers with other seeds; their mean reads better than either, and than with a third one without dropout
  for seed in 2 3; do
    teach qa "qa-$seed" --model "$base" --train "$out/mixed.json" --not-from "$test" --dev "$out/dev.json" $questions \
      --set training.learning_rate=4e-4 --set training.max_steps=6543 --set training.seed=$seed \
      --set hidden_dropout=0.1 --set task.max_answer_tokens=16 --set task.length_penalty=0.1 \
      --set task.by_overlap=true
  done
  [ -d "$out/qa/final" ] || python "$here/average.py" "$out/qa" "$out/dev.json" "$out"/qa-{2,3}
  [ -f "$out/names-dev.conll" ] || python "$here/names.py" "$data" "$out"
  teach tagging tagging --model "$base" --train "$out/names-train.conll" --dev "$out/names-dev.conll" \
    --set training.num_epochs=3
  xz -dc "$data/coref/ontogum/train.conll.xz" "$data/coref/litbank/train.conll.xz" |
    awk '/^#begin/ { keep = !/_textbook_/ } keep' > "$out/coref-train.conll" # some textbooks are non-commercial
  teach coref coref --model "$base" --train "$out/coref-train.conll" --dev "$data/coref/ontogum/dev.conll.xz" \
    --recipe small --set hidden_dropout=0 --set training.num_epochs=6 --set training.learning_rate=8e-4 \
    --set training.eval_every=350
else
  test="$data/qa/korquad/KorQuAD_v1.0_dev.json.xz"
  if [ ! -d "$out/store" ]; then
    xz -dc $(text kowiki-base-00) | head -c 13000000 > "$out/part.txt" || true # a quarter of the text: tagging is slow
    spanwise prepare "$out/part.txt" --language ko --tag morphemes --tokenizer "$start" --out "$out/store"
  fi
  [ -d "$out/valid" ] || spanwise prepare $(text kowiki-valid) --language ko --tag morphemes --tokenizer "$start" \
    --out "$out/valid"
  [ -d "$out/selection/final" ] || spanwise pretrain "$here/recipe.py:korean_selection" --init "$start" \
    --data "$out/store" --valid "$out/valid" --out "$out/selection" $select $(resume selection)
  if [ ! -d "$out/all-text" ]; then
    spanwise prepare $(text kowiki-base-0{0,1}) --language ko --tag morphemes --tokenizer "$start" --out "$out/all-text"
  fi
  [ -d "$out/longer/final" ] || spanwise pretrain "$here/recipe.py:korean_selection" --init "$out/selection/final" \
    --data "$out/all-text" --valid "$out/valid" --out "$out/longer" --budget 38min --set batch.max_tokens=2048 \
    --set format.max_length=256 --set encoder.hidden_dropout=0 --set training.learning_rate=2e-3 \
    --set training.warmup_steps=100 --set training.eval_every=500 --set training.threads=1 $(resume longer)
  [ -f "$out/made.json" ] || spanwise make-questions $(text kowiki-base-0{1,0}) --language ko --forms wh \
    --same-sentence 0.9 --max-questions 80000 --not-from "$test" --out "$out/made.json"
  for seed in 0 2; do
    teach qa "qa-$seed" --model "$out/longer/final" --train "$out/made.json" --not-from "$test" --errors repair \
      $questions --dev "$held_out/ko/qa-dev.json.xz" --set training.learning_rate=4e-4 --set training.max_steps=5600 \
      --set training.seed=$seed --set hidden_dropout=$([ $seed = 0 ] && echo 0 || echo 0.1) \
      --set task.max_answer_tokens=12 --set task.length_penalty=0.1
  done
  [ -d "$out/qa/final" ] || python "$here/average.py" "$out/qa" "$held_out/ko/qa-dev.json.xz" "$out"/qa-{0,2}
fi
