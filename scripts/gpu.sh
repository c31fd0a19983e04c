#!/bin/sh
# All GPU figures and a short pre-training in two calls of 9 minutes, on a machine that has torch and no network.
#
#   scripts/gpu.sh wheels [PYTHON]   here, with a network: put what the machine may lack into .wheels/gpu (ignored by git)
#   scripts/gpu.sh run OUT [...]     there, in a copy of this folder: all parts, results in OUT; called again it goes on
#
# .wheels is ignored by git: where the folder is copied without it, carry it by hand. OUT has a file a part, a run folder and
# the installed wheels; rows.json is what to keep.
# More arguments go to benchmarks/gpu.py (--minutes 9, --device cpu --tiny to try it without a GPU). What the machine
# has already (torch, numpy, numba, tokenizers, safetensors, transformers) is used as it is and never replaced.
set -eu
cd "$(dirname "$0")/.."
wheels=.wheels/gpu

case "${1:-}" in
wheels)
    mkdir -p "$wheels"
    rm -f "$wheels"/*.whl  # two releases of one package can't be installed together
    "${2:-python3}" -m pip download --quiet --dest "$wheels" --no-deps --only-binary=:all: --python-version 3.12 \
        --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_34_x86_64 --platform any \
        pydantic pydantic-core annotated-types typing-inspection cyclopts docstring-parser rich rich-rst docutils sentencex \
        zstandard sentencepiece typing-extensions bm25s PyStemmer
    ls -l "$wheels"
    ;;
run)
    [ $# -ge 2 ] || { echo "usage: scripts/gpu.sh run OUT" >&2; exit 2; }
    mkdir -p "$2"
    out=$(cd "$2" && pwd)
    shift 2
    site="$out/site"
    if [ -d "$wheels" ] && [ ! -d "$site" ]; then
        python3 -m pip install --quiet --no-index --no-deps --find-links "$wheels" --target "$site.part" "$wheels"/*.whl
        mv "$site.part" "$site"
    fi
    # what is installed comes first; the carried packages only fill gaps
    PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" SPANWISE_SITE="$site" exec python3 -c '
import os, runpy, sys
sys.path.append(os.environ["SPANWISE_SITE"])
sys.argv = sys.argv[1:]
sys.path.insert(0, "benchmarks")
runpy.run_path(sys.argv[0], run_name="__main__")
' benchmarks/gpu.py --out "$out" "$@"
    ;;
*)
    sed -n '2,11p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
    ;;
esac
