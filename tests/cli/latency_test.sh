#!/usr/bin/env bash
# Checks that tools/latency_under_load.sh measures every setting and leaves no busy loop behind,
# even when it is interrupted. Usage: latency_test.sh QTOOL SOURCE_FOLDER
set -uo pipefail
qtool=$1 script=$2/tools/latency_under_load.sh
command -v pgrep >/dev/null || { echo "skipped: there is no pgrep"; exit 77; }
work=$(mktemp -d) group=
trap '[[ -z $group ]] || kill -- "-$group" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
check() { eval "$2" || { echo "failed: $1 ($2)"; failed=1; }; }
# Prints the number of processes in the process group of the script.
left() { pgrep -c -g "$1"; }

set -m # each job is a process group of its own
bash "$script" --qtool "$qtool" --rounds 1 --repeat 2 >"$work/out" 2>"$work/err" &
group=$!
wait "$group"
check "it ends well" "(( $? == 0 ))"
check "all settings have a line" "(( $(grep -cE '^(0|2|20) +[12] +(FP32|INT8) +[0-9.]+  [0-9.]+ to [0-9.]+$' "$work/out") == 12 ))"
check "no loop is left" "(( $(left "$group") == 0 ))"

bash "$script" --qtool "$qtool" --rounds 1000 --repeat 2 >"$work/out" 2>"$work/err" &
group=$!
until (($(left "$group") > 20)) || ! kill -0 "$group" 2>/dev/null; do sleep 0.1; done
check "loops run" "(( $(left "$group") > 20 ))"
kill -INT -- "-$group"
wait "$group"
check "an interrupt is 130" "(( $? == 130 ))"
check "an interrupt leaves no loop" "(( $(left "$group") == 0 ))"
exit "$failed"
