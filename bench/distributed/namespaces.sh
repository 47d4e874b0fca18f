#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/distributed/namespaces.sh HOSTS RATE COMMAND...: runs COMMAND under mpirun, one rank on each of HOSTS hosts,
# which are network namespaces of this machine with links of that rate (as tc writes it: 1gbit). Messages go over TCP
# through the links, never through shared memory. Needs root, iproute2 and Open MPI. Everything is taken away at the end.
set -euo pipefail
[ $# -ge 3 ] || { echo "usage: $0 HOSTS RATE COMMAND..." >&2; exit 2; }
hosts=$1 rate=$2; shift 2
tag=y$$
agent=$(mktemp)
cleanup() {
  local i
  for ((i = 0; i < hosts; i++)); do ip netns del "$tag-$i" 2>/dev/null || true; done
  ip link del "$tag" 2>/dev/null || true
  rm -f "$agent"
}
trap cleanup EXIT

ip link add "$tag" type bridge
ip link set "$tag" up
list=
for ((i = 0; i < hosts; i++)); do
  ip netns add "$tag-$i"
  ip link add "$tag-$i" type veth peer name eth0 netns "$tag-$i"
  ip link set "$tag-$i" master "$tag" up
  ip netns exec "$tag-$i" ip link set lo up
  ip netns exec "$tag-$i" ip link set eth0 up
  ip netns exec "$tag-$i" ip address add "10.219.77.$((i + 1))/24" dev eth0
  # Both ways: what the host sends, and what the bridge sends to it.
  ip netns exec "$tag-$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 50ms
  tc qdisc add dev "$tag-$i" root tbf rate "$rate" burst 256kb latency 50ms
  list+=${list:+,}10.219.77.$((i + 1)):1
done

# In place of ssh: the last number of the address names the namespace. Each host has a name of its own, by which Open MPI
# tells machines apart.
cat >"$agent" <<EOF
#!/bin/bash
host=\$1; shift
i=\$((\${host##*.} - 1))
exec ip netns exec "$tag-\$i" unshare --uts bash -c "hostname $tag-\$i; \$*"
EOF
chmod +x "$agent"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "$tag-0" unshare --uts bash -c 'hostname "$0"; exec "$@"' "$tag-launcher" \
  mpirun --host "$list" -n "$hosts" --map-by node --mca plm rsh --mca plm_rsh_agent "$agent" --mca pml ob1 --mca btl self,tcp \
  --mca btl_tcp_if_include 10.219.77.0/24 --mca oob_tcp_if_include 10.219.77.0/24 "$@"
