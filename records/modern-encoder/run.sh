#!/usr/bin/env bash
# The study from raw text: run.sh DATA OUT. Called again it goes on where it stopped. Two hours of two cores.
set -euo pipefail
data=$1 out=$2
files() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(files wiki-small) --language en --vocab-size 8000 \
  --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(files wiki-small wiki-base-0{0,1,2,3}) --language en \
  --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare $(files wiki-valid) --language en --tokenizer "$out/tokenizer" --out "$out/valid"
spanwise study modern-encoder --data "$out/store" --valid "$out/valid" --probe-data "$data" --seeds 3 --jobs 2 \
  --budget 20min --out "$out/study"
