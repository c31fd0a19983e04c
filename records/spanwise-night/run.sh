#!/usr/bin/env bash
# spanwise-night from raw text, its questions and its measures: run.sh DATA OUT. Called again it goes on where it
# stopped. Three hours of two cores and more, of which 95 minutes are pre-training.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0") recipe=$(dirname "$0")/recipe.py:spanbert_night
nano=$here/../spanwise-nano
text() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(text wiki-small) --language en --vocab-size 8000 \
  --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(text wiki-small wiki-base-0{0,1,2,3} wiki-extra-0{0,1,2,3,4,5}) --language en \
  --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare $(text wiki-valid) --language en --tokenizer "$out/tokenizer" \
  --out "$out/valid"
[ -d "$out/pretraining/final" ] || spanwise pretrain "$recipe" --data "$out/store" --valid "$out/valid" \
  --processes 2 --out "$out/pretraining" $([ -d "$out/pretraining" ] && echo --resume)
python "$nano/questions.py" "$data" "$out"
python "$nano/measure.py" "$data" "$out" en "$recipe"
python "$nano/questions.py" "$data" "$out" en hidden_dropout=0.0
for seed in 1 2; do
  python "$nano/questions.py" "$data" "$out" en hidden_dropout=0.0 training.seed=$seed
done
