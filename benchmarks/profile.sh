#!/bin/sh
# Shows the functions that take most of the dumbbell's time.
#
# usage: profile.sh [FLOWS [DURATION_S]]     (10 flows, 600 s simulated)
#
# perf samples the program at full speed. If perf is not installed or the kernel
# does not allow it, valgrind counts the instructions of a run a hundredth as long. Most
# of the engine is inlined into few functions, so the script also lists the source files
# and lines, from the debug information.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
flows=${1:-10}
duration_s=${2:-600}
rows=25

(cd "$root" && cargo build --quiet --release -p headway-sim --bin dumbbell_bench)
engine=${CARGO_TARGET_DIR:-$root/target}/release/dumbbell_bench

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

run_engine() {
	"$@" "$engine" --flows "$flows" --duration-s "$duration_s" --control cubic --json
}

# The rows of a perf report without its comments and empty lines.
perf_rows() {
	perf report --stdio -i "$work/perf.data" --percent-limit 0.5 "$@" 2>/dev/null |
		grep -v '^#' | grep -v '^ *$' | cut -c 1-100 | head -n "$rows" || true
}

if perf record -q -o "$work/try.data" true >/dev/null 2>&1; then
	run_engine perf record -q -F 1999 -o "$work/perf.data"
	echo
	echo "Share of the samples by function ($flows flows, $duration_s s simulated, perf):"
	perf_rows --sort symbol
	echo
	echo "Share of the samples by source line:"
	perf_rows --sort srcline
elif command -v valgrind >/dev/null 2>&1; then
	duration_s=$(awk "BEGIN { print $duration_s / 100 }")
	run_engine valgrind -q --tool=callgrind --callgrind-out-file="$work/callgrind.out"
	echo
	echo "Instructions by function ($flows flows, $duration_s s simulated, callgrind):"
	callgrind_annotate --auto=no --threshold=95 "$work/callgrind.out" |
		sed -n '/file:function/,$p' | grep -v '^ *$' | sed "s|$root/||" |
		cut -c 1-160 | head -n "$rows"
else
	echo "profile: needs perf or valgrind; as root: apt-get install linux-perf valgrind" >&2
	exit 1
fi
