#!/usr/bin/env bash
# The study from raw text: run.sh DATA OUT [SIZE]. Called again it goes on where it stopped.
# whole: some 22 hours of two cores, as README.md reckons. small: 2 layers x 128 and ten minutes per arm.
set -euo pipefail
data=$1 out=$2 size=${3:-whole}
files() { for name in "$@"; do echo "$data/text/en/$name.txt.xz"; done; }
case $size in
  whole) vocabulary=8000 seeds=5 texts="wiki-small wiki-base-00 wiki-base-01 wiki-base-02 wiki-base-03" shape=() ;;
  small) vocabulary=4000 seeds=5 texts="wiki-small" shape=(--budget 10min --set encoder.num_layers=2
    --set encoder.hidden_size=128 --set encoder.num_heads=2 --set encoder.intermediate_size=512) ;;
  *) echo "run.sh DATA OUT [whole | small]: got '$size' for a size" >&2; exit 2 ;;
esac
mkdir -p "$out"
[ -d "$out/tokenizer" ] || spanwise learn-tokenizer $(files wiki-small) --vocab-size $vocabulary --roles question \
  --out "$out/tokenizer"
[ -d "$out/store" ] || spanwise prepare $(files $texts) --tokenizer "$out/tokenizer" --out "$out/store"
exec spanwise study few-shot-questions "${shape[@]}" --data "$out/store" --probe-data "$data" --jobs 2 \
  --seeds $seeds --out "$out/study"
