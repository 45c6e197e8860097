#!/usr/bin/env bash
# What the suites of `make test` could not run on this machine, from the file that they wrote:
# a line each with number, suite and reason between tabs.
#   skipped.sh FILE                         says it
#   skipped.sh --note NUMBER SUITE REASON   a suite's own word, to the screen and to HEADWAY_SKIPS
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
