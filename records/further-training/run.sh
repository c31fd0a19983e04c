#!/usr/bin/env bash
# Further training of fine-tuned models on a second domain, with and without old data: run.sh DATA OUT
# Called again it goes on where it stopped; table.py then prints the tables.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0")
mkdir -p "$out"
[ -f "$out/wnut-dev.conll" ] || python "$here/data.py" "$data" "$out"
teach() { # TASK NAME SEED, options
  local task=$1 name=$2-$3 seed=$3; shift 3
  [ -d "$out/$name/final" ] || spanwise finetune "$task" --out "$out/$name" --set training.seed="$seed" "$@" \
    $([ ! -d "$out/$name" ] || echo --resume)
}
score() { # TASK NAME MODEL, files: each score goes to NAME.FILE.json
  local task=$1 name=$2 model=$3; shift 3
  for file in "$@"; do
    [ -f "$out/$name.$file.json" ] || spanwise evaluate "$task" --model "$model" --data "$out/$file.conll" \
      --precision fp32 --json > "$out/$name.$file.json"
  done
}
names() {
  score tagging start spanwise-mini wikiann-dev uner-dev wnut-dev
  for seed in 0 1 2; do
    for kind in uner wnut; do
      teach tagging $kind-plain $seed --model spanwise-mini --train "$out/$kind-train.conll" --set training.num_epochs=2
      teach tagging $kind-replay $seed --model spanwise-mini --train "$out/$kind-train.conll" \
        --replay "$out/wikiann-train.conll" --set replay_share=0.5 --set training.num_epochs=2
      for way in plain replay; do
        score tagging $kind-$way-$seed "$out/$kind-$way-$seed" wikiann-dev $kind-dev
      done
    done
  done
}
clusters() {
  score coref coref-start spanwise-mini ontogum-dev winobias-dev
  for seed in 0 1 2; do
    for way in plain replay; do
      teach coref winobias-$way $seed --model spanwise-mini --train "$out/winobias-train.conll" --recipe small \
        --set hidden_dropout=0 --set training.num_epochs=2 --set training.learning_rate=4e-4 \
        $([ $way = plain ] || echo --replay "$out/ontogum.conll" --set replay_share=0.2)
      score coref winobias-$way-$seed "$out/winobias-$way-$seed" ontogum-dev winobias-dev
    done
  done
}
${3:-names}
[ -n "${3:-}" ] || clusters
