#!/usr/bin/env bash
# all-MiniLM-L6-v2 loaded, compared, trained on with MLM + SBO, fine-tuned for QA and scored; call it again to go on.
# usage: run.sh MINILM_FOLDER DATA_FOLDER OUT_FOLDER
# DATA_FOLDER holds text/en/wiki-small.txt.xz, text/en/wiki-valid.txt.xz, qa/squadshifts/new_wiki_v1.0.json.xz and
# qa/squad/dev-v1.1.json.xz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
minilm=$1 data=$2 out=$3
mkdir -p "$out"
export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 ONEDNN_PRIMITIVE_CACHE_CAPACITY=8192

xz -dc "$data/text/en/wiki-valid.txt.xz" | sed -n 1,600p > "$out/valid.txt"
[ -f "$out/equal.json" ] || python "$here/equal.py" "$minilm" "$out/valid.txt" "$out/equal.json"

[ -d "$out/store" ] || spanwise prepare "$data/text/en/wiki-small.txt.xz" --tokenizer "$minilm" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$out/valid.txt" --tokenizer "$minilm" --out "$out/valid"
train_on() { # RECIPE ARM
  [ -d "$out/$2/final" ] ||
    spanwise pretrain "$here/recipe.py:$1" --init "$minilm" --data "$out/store" --valid "$out/valid" \
      --out "$out/$2" --resume
}
train_on mlm_sbo trained-on
train_on mlm_sbo_gently trained-on-gently
train_on mlm_sbo_two_rates trained-on-at-two-rates
[ -f "$out/held_out.json" ] || python "$here/held_out.py" "$minilm" "$out"

for arm in as-it-came trained-on random-weights trained-on-gently trained-on-at-two-rates; do
  model=$minilm from=
  [ ! -d "$out/$arm/final" ] || model=$out/$arm/final
  [ "$arm" != random-weights ] || from=--reset-weights
  [ -d "$out/qa-$arm/final" ] ||
    spanwise finetune qa --model "$model" --train "$data/qa/squadshifts/new_wiki_v1.0.json.xz" --out "$out/qa-$arm" \
      $from --set task.max_length=320 --set batch_size=16 --set pack_tokens=2048 --set hidden_dropout=0.1 \
      --set attention_dropout=0 --set training.learning_rate=2e-4 --set training.max_steps=160 \
      --set training.save_every=50 --set training.keep=1 --set training.threads=1 --resume
  [ -f "$out/qa-$arm/predictions.json" ] ||
    spanwise predict qa --model "$out/qa-$arm/final" --input "$data/qa/squad/dev-v1.1.json.xz" \
      --output "$out/qa-$arm/predictions.json"
done
python "$here/scores.py" "$data/qa/squad/dev-v1.1.json.xz" "$out"
