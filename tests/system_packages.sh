#!/usr/bin/env bash
# Installs the system packages that some tests need (a compiler for eBPF, readers of captures), as root
# on Debian. Otherwise prints in one line how to install them. The script never fails.
# With --ready it installs nothing; its exit status is 0 if this machine can build the eBPF objects.
set -euo pipefail

if [ "${1:-}" = --ready ]; then
	command -v clang-19 >/dev/null && pkg-config --exists libbpf libelf zlib 2>/dev/null
	exit
fi

missing=()
need() { # COMMAND... -- PACKAGE
	local package=${!#}
	"${@:1:$#-2}" >/dev/null 2>&1 || missing+=("$package")
}
need command -v clang-19 -- clang-19
need command -v llvm-strip-19 -- llvm-19
need sh -c 'ls /usr/lib/llvm-*/lib/libclang-[0-9]*.so*' -- libclang1-19
need command -v pkg-config -- pkg-config
need pkg-config --exists libbpf -- libbpf-dev
need pkg-config --exists libelf -- libelf-dev
need pkg-config --exists zlib -- zlib1g-dev
need command -v dpkg-shlibdeps -- dpkg-dev
need command -v tcptrace -- tcptrace
need command -v tshark -- tshark
need command -v tcpdump -- tcpdump
need command -v ip -- iproute2
need command -v ping -- iputils-ping
need command -v nft -- nftables
need command -v iperf3 -- iperf3
need command -v curl -- curl
need command -v nginx -- nginx-light
need command -v chromium -- chromium
need command -v npm -- npm
need command -v zsh -- zsh
need command -v fish -- fish
need command -v lexgrog -- man-db
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	echo "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	# only nginx's program is needed; its service must not start
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		trap 'rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
	fi
	if apt-get -qq update >/dev/null && apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null; then
		exit 0
	fi
fi
echo "tests that need them are skipped; to run them: apt-get install ${missing[*]}"
