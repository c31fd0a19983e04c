#!/usr/bin/env bash
# spanwise-nano from raw text, its questions and its measures: run.sh DATA OUT [ko]. Called again it goes on where it
# stopped. An hour of two cores, of which 25 minutes are pre-training.
set -euo pipefail
data=$1 out=$2 language=${3:-en} here=$(dirname "$0")
recipe=spanbert-nano words=8000 learn=(wiki-small) read=(wiki-small wiki-base-0{0,1,2,3}) valid=wiki-valid
if [ "$language" = ko ]; then
  recipe=spanbert-nano-ko words=12000 learn=(kowiki-base-00) read=(kowiki-base-0{0,1}) valid=kowiki-valid
fi
files() { for name in "$@"; do echo "$data/text/$language/$name.txt.xz"; done; }
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(files "${learn[@]}") --language "$language" \
  --vocab-size $words --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(files "${read[@]}") --language "$language" \
  --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare $(files $valid) --language "$language" \
  --tokenizer "$out/tokenizer" --out "$out/valid"
[ -d "$out/pretraining/final" ] || spanwise pretrain $recipe --data "$out/store" --valid "$out/valid" \
  --processes 2 --out "$out/pretraining" $([ -d "$out/pretraining" ] && echo --resume)
python "$here/questions.py" "$data" "$out" "$language"
python "$here/measure.py" "$data" "$out" "$language"
