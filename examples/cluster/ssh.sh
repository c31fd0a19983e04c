#!/usr/bin/env bash
# Pre-train on several machines by ssh alone: ssh.sh HOST... -- RECIPE --data STORE --out RUN [OPTIONS]
# Every host has this folder at the same place, with the store and RUN on a file system that all share, and torchrun on
# its PATH. The first host is where they meet. A host that dies or joins later starts the group anew from the newest
# checkpoint, with those that are there. The same line again is a resume.
# PROCESSES: a host's number of them (default: gpu, one a card). PORT: where they meet (default 29400).
set -euo pipefail

hosts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  hosts+=("$1")
  shift
done
if [ ${#hosts[@]} -eq 0 ] || [ $# -lt 2 ]; then
  echo "usage: ssh.sh HOST... -- RECIPE --data STORE --out RUN [OPTIONS]" >&2
  exit 2
fi
shift

# Without the variable, an agent that stays does not tell one that joins later where to meet (torch 2.13).
command=(env TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun
  --nnodes "1:${#hosts[@]}" --nproc-per-node "${PROCESSES:-gpu}" --max-restarts 20
  --rdzv-backend c10d --rdzv-endpoint "${hosts[0]}:${PORT:-29400}" --rdzv-id spanwise --rdzv-conf last_call_timeout=30
  -m spanwise pretrain "$@" --resume)
there=$(printf '%q ' cd "$PWD")"&& exec $(printf '%q ' "${command[@]}")"

agents=()
trap 'kill "${agents[@]}" 2>/dev/null || true' INT TERM
for host in "${hosts[@]}"; do
  # With a terminal (-tt) the far end hears of it when this end goes.
  ssh -tt "$host" "$there" </dev/null > >(sed "s/^/$host: /") 2>&1 &
  agents+=($!)
done
status=0
for agent in "${agents[@]}"; do
  wait "$agent" || status=$?
done
exit "$status"
