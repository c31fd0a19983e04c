#!/usr/bin/env bash
# spanwise-nano from raw text: run.sh DATA OUT. Called again it goes on where it stopped.
set -euo pipefail
data=$1 out=$2
text=("$data"/text/en/wiki-small.txt.xz "$data"/text/en/wiki-base-0{0,1,2,3}.txt.xz)
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer "$data/text/en/wiki-small.txt.xz" --vocab-size 8000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare "${text[@]}" --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare "$data/text/en/wiki-valid.txt.xz" --tokenizer "$out/tokenizer" --out "$out/valid"
[ -d "$out/pretraining/final" ] || spanwise pretrain spanbert-nano --data "$out/store" --valid "$out/valid" \
  --processes 2 --out "$out/pretraining" $([ -d "$out/pretraining" ] && echo --resume)
