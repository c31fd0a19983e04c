#!/usr/bin/env bash
# The study from raw text: run.sh DATA OUT. Called again it goes on where it stopped. Three hours of two cores.
set -euo pipefail
data=$1 out=$2 here=$(dirname "$0")
files() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(files wiki-small) --vocab-size 4000 --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(files wiki-small wiki-base-0{0,1,2,3}) \
  --tokenizer "$out/tokenizer" --out "$out/store"
[ -d "$out/valid" ] || spanwise prepare $(files wiki-valid) --tokenizer "$out/tokenizer" --out "$out/valid"
spanwise study "$here/spans.py:spans" --data "$out/store" --valid "$out/valid" --probe-data "$data" \
  --jobs 2 --seeds 5 --tokens 4000000 --out "$out/study"
