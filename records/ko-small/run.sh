#!/usr/bin/env bash
# From raw Korean text to a model that answers Korean questions, on one thread; call it again to go on.
# usage: run.sh DATA_FOLDER OUT_FOLDER      needs `pip install 'spanwise[ko]'`
# DATA_FOLDER holds text/ko/kowiki-base-00.txt.xz, kowiki-base-01.txt.xz, kowiki-valid.txt.xz and
# qa/korquad/KorQuAD_v1.0_dev.json.xz (CC BY-ND: it is read as it is, and nothing made of it is kept here)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2
text=$data/text/ko/kowiki-base-00.txt.xz more=$data/text/ko/kowiki-base-01.txt.xz valid=$data/text/ko/kowiki-valid.txt.xz
mkdir -p "$out"
export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1

[ -d "$out/tokenizer" ] || spanwise learn-tokenizer "$text" "$more" --language ko --boundaries morphemes \
  --vocab-size 12000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare "$text" --language ko --tokenizer "$out/tokenizer" --tag morphemes \
  --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$valid" --language ko --tokenizer "$out/tokenizer" --tag morphemes \
  --out "$out/valid"
[ -d "$out/pretrain/final" ] || spanwise pretrain "$here/recipe.py:ko_small" --data "$out/store" --valid "$out/valid" \
  --out "$out/pretrain" --resume

python "$here/questions.py" "$data/qa/korquad/KorQuAD_v1.0_dev.json.xz" "$out"
for seed in ${SEEDS:-0}; do
  for arm in trained random; do
    from=
    [ "$arm" = trained ] || from=--reset-weights
    [ -d "$out/qa-$arm-$seed/final" ] ||
      spanwise finetune qa --model "$out/pretrain/final" --train "$out/korquad-train.json" --out "$out/qa-$arm-$seed" \
        $from --set task.max_length=256 --set batch_size=16 --set hidden_dropout=0.1 --set training.num_epochs=2 \
        --set training.learning_rate=1e-3 --set training.seed="$seed" --set training.threads=1 --set training.keep=1 \
        --resume
    for form in dev dev-nfd; do
      [ -f "$out/qa-$arm-$seed/$form.json" ] ||
        spanwise predict qa --model "$out/qa-$arm-$seed/final" --input "$out/korquad-$form.json" \
          --output "$out/qa-$arm-$seed/$form.json"
    done
  done
done
python "$here/measure.py" "$out"
(cd "$out" && spanwise report pretrain qa-*-0 --out report.html)
