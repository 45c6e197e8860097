#!/usr/bin/env bash
# Prints which tests the suites of `make test` skipped on this machine. Reads the file that the suites
# wrote: each line has a number of tests, the suite and the reason, separated by tabs.
#   skipped.sh FILE                         prints the summary
#   skipped.sh --note NUMBER SUITE REASON   prints an entry and adds it to the file in HEADWAY_SKIPS
set -euo pipefail

if [ "$1" = --note ]; then
	echo "skipped: $2 $3: $4"
	[ -z "${HEADWAY_SKIPS:-}" ] || printf '%s\t%s\t%s\n' "$2" "$3" "$4" >>"$HEADWAY_SKIPS"
	exit
fi
if [ ! -s "$1" ]; then
	echo "nothing was skipped"
	exit
fi
echo "skipped on this machine:"
awk -F '\t' '
	{ what = $2 ": " $3; if (!(what in count)) order[++n] = what; count[what] += $1 }
	END { for (i = 1; i <= n; i++) printf "%6d %s\n", count[order[i]], order[i] }' "$1"
