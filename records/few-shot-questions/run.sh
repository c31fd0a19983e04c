#!/usr/bin/env bash
# The study from raw text: run.sh DATA OUT [small]. Called again it goes on where it stopped.
# The whole: some 22 hours of two cores, as README.md reckons. small: 2 layers x 128, three seeds, an hour of one idle core.
set -euo pipefail
data=$1 out=$2 size=${3:-whole} here=$(dirname "$0")
files() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
case $size in
  whole) vocabulary=8000 texts="wiki-small wiki-base-00 wiki-base-01 wiki-base-02 wiki-base-03" ;;
  small) vocabulary=4000 texts="wiki-small" ;;
  *) echo "run.sh DATA OUT [small]: got '$size' for small" >&2; exit 2 ;;
esac
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(files wiki-small) --vocab-size $vocabulary --roles question \
  --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(files $texts) --tokenizer "$out/tokenizer" --out "$out/store"
if [ "$size" = small ]; then
  exec spanwise study "$here/small.py:small" --data "$out/store" --probe-data "$data" --seeds 3 --out "$out/study"
fi
exec spanwise study few-shot-questions --data "$out/store" --probe-data "$data" --jobs 2 --seeds 5 --out "$out/study"
