#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'END'
namespaces.sh [--hosts N] [--rate RATE] [--loss PERCENT] [--delay MS] [--limit S] [--counters] COMMAND...

Runs COMMAND under mpirun, one rank on each of N hosts. Hosts are network namespaces of this machine, and a router
between them is another. Messages go over TCP through the router, never through shared memory.

  --hosts N        2 to 64 (2)
  --rate RATE      of each host's link, each way, by tc's tbf: 100mbit, 1gbit (as fast as it goes)
  --loss PERCENT   of the packets that reach a host are dropped at random, by nftables: 0 to 50 (0)
  --delay MS       that the router holds each packet, so a round trip takes twice that, by delay.py: 0 to 1000 (0)
  --limit S        the command is ended after S seconds: 1 to 86400 (3600)
  --counters       says on standard error at the end what went through each host's link, start-up included

Needs root, iproute2 and Open MPI; --loss needs nftables; --delay needs python3 and /dev/net/tun. What it makes is
taken away at the end, also after Ctrl-C. Exit codes: the command's; 2: bad arguments; 3: this machine cannot do it, and
the message says what is missing; 124: the limit.
END
}
say() { printf 'namespaces.sh: %s\n' "$1" >&2; }
refuse() { say "$1 (--help says more)"; exit 2; }
cannot() { say "$1"; exit 3; }

hosts=2 rate='' loss=0 delay=0 limit=3600 counters=no
tag=yolk-$$
net=10.219.77
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
agent='' child=''

# is_number TEXT LOWEST HIGHEST: whether it is a decimal number in that range.
is_number() {
  [[ $1 =~ ^[0-9]+(\.[0-9]+)?$ ]] && awk -v x="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(x >= a && x <= b) }'
}
is_whole() { [[ $1 =~ ^[0-9]{1,6}$ ]] && is_number "$1" "$2" "$3"; }

read_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --counters) counters=yes; shift; continue ;;
      --) shift; break ;;
      --hosts | --rate | --loss | --delay | --limit) [ $# -ge 2 ] || refuse "$1 needs a value." ;;
      -*) refuse "There is no option $1." ;;
      *) break ;;
    esac
    declare -g "${1#--}=$2"
    shift 2
  done
  command=("$@")
  is_whole "$hosts" 2 64 || refuse "--hosts is '$hosts'; 2 to 64 are allowed."
  [ -z "$rate" ] || [[ $rate =~ ^[1-9][0-9]{0,5}[kmg]bit$ ]] ||
    refuse "--rate is '$rate'; a whole number with kbit, mbit or gbit is needed: 100mbit."
  is_number "$loss" 0 50 || refuse "--loss is '$loss'; 0 to 50 percent are allowed."
  is_number "$delay" 0 1000 || refuse "--delay is '$delay'; 0 to 1000 milliseconds are allowed."
  is_whole "$limit" 1 86400 || refuse "--limit is '$limit'; 1 to 86400 seconds are allowed."
  [ ${#command[@]} -gt 0 ] || refuse "A command is needed after the options."
  drops=$(awk -v x="$loss" 'BEGIN { printf "%d", x * 1000 + .5 }')  # of 100,000 packets
  if is_number "$delay" 0 0; then delay=0; fi
}

check_machine() {
  local needed=(ip mpirun unshare hostname timeout)
  [ "$(id -u)" -eq 0 ] || cannot "Only root can make network namespaces; this is user $(id -un)."
  [ -z "$rate" ] || needed+=(tc)
  [ "$drops" -eq 0 ] || needed+=(nft)
  [ "$delay" = 0 ] || needed+=(python3)
  local program
  for program in "${needed[@]}"; do
    command -v "$program" >/dev/null ||
      cannot "There is no $program here (Debian: iproute2, openmpi-bin, nftables, python3)."
  done
  [ "$delay" = 0 ] || [ -c /dev/net/tun ] || cannot "There is no /dev/net/tun here, which --delay needs."
}

# attempt COMMAND...: a step of the set-up; what fails here is what the machine cannot do.
attempt() {
  local said
  said=$("$@" 2>&1) || cannot "This machine cannot do '$*': ${said:-no reason given}."
}
# inside HOST COMMAND...: in the namespace of that host, or of the router.
inside() { local where=$1; shift; ip netns exec "$tag-$where" "$@"; }
namespaces() { ip netns list 2>/dev/null | awk '{ print $1 }' | grep -E "^$1-([0-9]+|router)\$" || true; }

# remove NAME: a namespace with the processes and links in it.
remove() {
  local pid
  for pid in $(ip netns pids "$1" 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
  ip netns del "$1" 2>/dev/null || true
}
# All that this run made is in its namespaces, or goes with them.
clean() {
  local name
  trap - EXIT
  trap '' INT TERM HUP
  for name in $(namespaces "$tag"); do remove "$name"; done
  [ -z "$agent" ] || rm -f "$agent"
}
# Ctrl-C ends the command first, for 5 seconds at most.
stop() {
  local tenths
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -TERM "$child" 2>/dev/null || true
    for ((tenths = 0; tenths < 50; tenths++)); do
      kill -0 "$child" 2>/dev/null || break
      sleep .1
    done
  fi
  exit "$1"
}
# Of runs that were killed before they could clean up: their numbers are in the names.
clean_left_over() {
  local name number
  for name in $(namespaces 'yolk-[0-9]+'); do
    number=${name#yolk-}
    [ -e "/proc/${number%%-*}" ] || remove "$name"
  done
}

make_router() {
  attempt ip netns add "$tag-router"
  # In a chroot a namespace can be made and not entered; some containers take /proc/sys and names away.
  attempt inside router true
  attempt unshare --uts hostname "$tag-probe"
  attempt inside router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter'
  attempt inside router sh -c 'echo 0 >/proc/sys/net/ipv4/conf/default/rp_filter'
  [ "$delay" = 0 ] || attempt inside router ip tuntap add dev hold mode tun
  [ "$delay" = 0 ] || attempt inside router ip link set hold up txqueuelen 10000 addrgenmode none
}

# make_host I: its link's ends are eth0 there and host-I in the router.
make_host() {
  local i=$1 address=$net.$(($1 + 1)) end
  # What is dropped, held and counted are packets of the link's size, and not the kernel's bundles of them.
  local segments=(gso_max_segs 1)
  if [ "$drops$delay$counters" = 00no ]; then segments=(); fi
  attempt ip netns add "$tag-$i"
  attempt inside "$i" ip link set lo up
  attempt inside router ip link add "host-$i" type veth peer name eth0 netns "$tag-$i"
  attempt inside router ip link set "host-$i" up addrgenmode none "${segments[@]}"
  attempt inside "$i" ip link set eth0 up addrgenmode none "${segments[@]}"
  attempt inside "$i" ip address add "$address" peer "$net.254/32" dev eth0
  attempt inside router ip address add "$net.254" peer "$address/32" dev "host-$i"
  attempt inside "$i" ip route add "$net.0/24" via "$net.254" dev eth0
  if [ -n "$rate" ]; then
    for end in "$i eth0" "router host-$i"; do
      attempt inside "${end% *}" tc qdisc add dev "${end#* }" root tbf rate "$rate" burst 32kb latency 50ms
    done
  fi
  if [ "$drops" -gt 0 ]; then
    attempt inside "$i" nft add table inet yolk
    attempt inside "$i" nft "add chain inet yolk lossy { type filter hook input priority 0; }"
    attempt inside "$i" nft add rule inet yolk lossy iifname eth0 numgen random mod 100000 "<" "$drops" drop
  fi
  # What comes from a host goes to the relay, and what comes from the relay goes to a host.
  [ "$delay" = 0 ] || attempt inside router ip rule add iif "host-$i" lookup 100
}

start_relay() {
  local tenths
  attempt inside router ip route add default dev hold table 100
  # Not through inside(): a function in the background is a process of its own, between this one and the relay.
  ip netns exec "$tag-router" python3 "$here/delay.py" --device hold --milliseconds "$delay" --network "$net.0/24" &
  disown  # bash would report its end
  for ((tenths = 0; tenths < 100; tenths++)); do
    # The device has a carrier as long as somebody reads from it.
    if inside router ip link show hold | grep -q LOWER_UP; then return 0; fi
    sleep .1
  done
  cannot "delay.py did not start within 10 seconds."
}

# In place of ssh: the last number of the address says which host it is. Each has a name of its own, by which Open MPI
# tells machines apart.
write_agent() {
  agent=$(mktemp)
  cat >"$agent" <<END
#!/bin/bash
host=\$1; shift
i=\$((\${host##*.} - 1))
exec ip netns exec "$tag-\$i" unshare --uts bash -c "hostname $tag-\$i; \$*"
END
  chmod +x "$agent"
}

print_counters() {
  local i script
  # shellcheck disable=SC2016  # variables of the inner shell; $0 is the host
  script='cd /sys/class/net/eth0/statistics
    echo "namespaces.sh: host $0 sent $(cat tx_bytes) bytes in $(cat tx_packets) packets and received $(cat rx_bytes)" \
      "bytes in $(cat rx_packets) packets"'
  for ((i = 0; i < hosts; i++)); do inside "$i" sh -c "$script" "$i" >&2; done
}

run_command() {
  local i list='' code=0
  for ((i = 0; i < hosts; i++)); do list+=${list:+,}$net.$((i + 1)):1; done
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # shellcheck disable=SC2016  # $0 and $@ are that shell's
  timeout -k 5 "$limit" ip netns exec "$tag-0" unshare --uts bash -c 'hostname "$0"; exec "$@"' "$tag-launcher" \
    mpirun --host "$list" -n "$hosts" --map-by node --mca plm rsh --mca plm_rsh_agent "$agent" --mca pml ob1 \
    --mca btl self,tcp --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" "${command[@]}" <&0 &
  child=$!
  wait "$child" || code=$?
  child=''
  [ "$counters" = no ] || print_counters
  return "$code"
}

read_arguments "$@"
check_machine
trap clean EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP
clean_left_over
make_router
for ((host = 0; host < hosts; host++)); do make_host "$host"; done
[ "$delay" = 0 ] || start_relay
write_agent
run_command
