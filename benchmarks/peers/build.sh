#!/bin/sh
# Builds the ns-3 programs of the benchmarks into build/peers.
# With --install it first installs what is missing, as root, with apt-get.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=${BENCH_PEERS_DIR:-$here/../../build/peers}
packages="ns3 libns3-dev g++"

have_ns3() {
	[ -e /usr/include/ns3/core-module.h ] && command -v g++ >/dev/null 2>&1
}

if ! have_ns3; then
	if [ "${1:-}" = --install ] && [ "$(id -u)" = 0 ]; then
		apt-get update -q
		# shellcheck disable=SC2086
		apt-get install -y -q --no-install-recommends $packages
	else
		echo "bench-peers: ns-3 is not installed; as root: apt-get install $packages" >&2
		exit 1
	fi
fi

mkdir -p "$out"
# The modules register their types when loaded, so the linker must not drop any as unused.
for name in ns3_dumbbell ns3_leafspine; do
	g++ -std=c++17 -O3 -DNDEBUG -Wall -Wextra "$here/$name.cc" -o "$out/$name" \
		-Wl,--no-as-needed -lns3-core -lns3-network -lns3-stats -lns3-internet \
		-lns3-bridge -lns3-traffic-control -lns3-point-to-point -lns3-applications \
		-lns3-nix-vector-routing
	echo "built $out/$name"
done
