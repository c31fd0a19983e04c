#!/usr/bin/env bash
# Two hosts on one machine, one of which is killed and comes back: two_hosts.sh OUT. They are two network namespaces,
# joined by a cable, in namespaces of this script's own: no other process is seen or touched. Without root the kernel must
# let users make them. It ends with "same bits" if the weights are those of a run on one process.
set -euo pipefail
if [ -z "${INSIDE_TWO_HOSTS:-}" ]; then
  root=(); [ "$(id -u)" = 0 ] || root=(--map-root-user)
  exec unshare "${root[@]}" --mount --net --pid --fork --kill-child --mount-proc env INSIDE_TWO_HOSTS=1 bash "$0" "$@"
fi
mount -t tmpfs none /run # where ip keeps the names of namespaces
out=$(realpath -m "$1")
here=$(realpath "$(dirname "$0")")
python=$(command -v python3)
one=10.77.0.1 two=10.77.0.2
mkdir -p "$out"

for host in one two; do ip netns add "$host"; ip -n "$host" link set lo up; done
ip link add cable netns one type veth peer name cable netns two
ip -n one addr add $one/24 dev cable && ip -n one link set cable up
ip -n two addr add $two/24 dev cable && ip -n two link set cable up

corpus=$("$python" -c 'from importlib.resources import files; print(files("spanwise.quickstart") / "corpus")')
xz -dc "$corpus/wiki-train.txt.xz" | head -c 1500000 > "$out/text.txt" || true
# Five packs a step, so that two hosts have unlike shares; exact sums, so that this changes no bit.
run=(spanbert-mini --data "$out/store" --set training.max_steps=150 --set training.exact_sums=true --set training.threads=1
  --set encoder.hidden_size=64 --set encoder.num_layers=2 --set encoder.num_heads=2 --set encoder.intermediate_size=128
  --set format.max_length=128 --set batch.max_tokens=256 --set batch.tokens_per_step=1280 --set training.save_every=20
  --set training.log_every=5)
"$python" -m spanwise learn-tokenizer "$out/text.txt" --vocab-size 2000 --out "$out/tokenizer"
"$python" -m spanwise prepare "$out/text.txt" --tokenizer "$out/tokenizer" --out "$out/store"
OMP_NUM_THREADS=1 "$python" -m spanwise pretrain "${run[@]}" --out "$out/alone"

start() { # HOST ADDRESS: its agent, which starts the group anew whenever a host leaves or comes
  ip netns exec "$1" env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=cable TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 "$python" -m torch.distributed.run \
    --nnodes 1:2 --nproc-per-node 1 --max-restarts 20 --rdzv-backend c10d --rdzv-endpoint $one:29400 --rdzv-id pair \
    --rdzv-conf last_call_timeout=5,is_host=$3 --local-addr "$2" -m spanwise pretrain "${run[@]}" --out "$out/pair" --resume \
    >> "$out/$1.log" 2>&1 &
}
step() { tail -n 1 "$out/pair/metrics.jsonl" 2>/dev/null | "$python" -c 'import json, sys; print(json.loads(sys.stdin.read() or "{}").get("step", 0))'; }
reach() { until [ "$(step)" -ge "$1" ]; do sleep 0.5; done; }
start one $one 1
leader=$!
start two $two 0
reach 30
echo "host two is killed after step $(step)"
ip -n two link set cable down # as if its power were cut: no connection is closed
ip netns pids two | xargs -r kill -9
gone=$(step)
reach $((gone + 10)) # so host one trains alone: a line of both may still have been under way
echo "host two comes back after step $(step)"
ip -n two link set cable up
start two $two 0
wait "$leader"
"$python" "$here/same_weights.py" "$out/alone/final" "$out/pair/final"
