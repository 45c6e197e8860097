#!/usr/bin/env bash
# Run the default tests while their processes are stopped and continued at random.
#
#   tests/stalled.sh [COMMAND...]    default: make test
#
# A test that passes only when it gets the processor in time fails here. Each round stops a random
# half of the processes of the command for 50 to 500 ms. HEADWAY_STALL_SEED repeats the draws.
# The exit status is that of the command.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- make test
seed=${HEADWAY_STALL_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$seed

# A background process of a script leads no process group, so setsid does not fork: its pid is also the
# id of the new session.
setsid "$@" &
session=$!

signal() { # NAME PID...: a process may have ended in the meantime
	local name=$1
	shift
	kill -s "$name" "$@" 2>/dev/null || true
}
everyone() { pgrep -s "$session" || true; }
trap 'signal CONT $(everyone); signal TERM $(everyone)' EXIT

rounds=0 stops=0
while kill -0 $session 2>/dev/null; do
	chosen=()
	for pid in $(everyone); do
		((RANDOM % 2)) || chosen+=("$pid")
	done
	if [ ${#chosen[@]} -gt 0 ]; then
		signal STOP "${chosen[@]}"
		sleep "0.$(printf %03d $((50 + RANDOM % 451)))"
		signal CONT "${chosen[@]}"
		((++rounds)) && ((stops += ${#chosen[@]})) || true
	fi
	sleep "0.$(printf %03d $((50 + RANDOM % 451)))"
done
status=0
wait $session || status=$?
trap - EXIT
echo "stalled: seed $seed, $rounds rounds, $stops processes stopped, exit status $status"
exit $status
