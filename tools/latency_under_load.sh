#!/usr/bin/env bash
# Times one model on one and two threads while other processes want the cores: on the machine as it
# is, beside two busy loops, and beside twenty. All settings take turns, round by round;
# the table gives the median over the rounds of each round's median, and the least and the largest.
# The busy loops have the niceness of this script and end with it, however it ends.
# Usage: tools/latency_under_load.sh [--qtool PROGRAM] [--rounds N] [--repeat N] [MODEL [INT8]]
#   MODEL, INT8  an FP32 model and its INT8 form; default: signs_mobilenet of data/, calibrated here
#   --qtool      the program to time; default: the release preset, which is built
#   --rounds     default 5
#   --repeat     runs of each model in a setting and round; default 100
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

readonly LOADS=(0 2 20) THREADS=(1 2)
rounds=5 repeat=100 program= models=()
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool | --rounds | --repeat)
      (($# >= 2)) || fail "$1 needs a value"
      case $1 in --qtool) program=$2 ;; --rounds) rounds=$2 ;; --repeat) repeat=$2 ;; esac
      shift 2 ;;
    -*) fail "unknown option '$1'; tools/latency_under_load.sh --help lists what there is" ;;
    *) models+=("$1"); shift ;;
  esac
done
for number in "$rounds" "$repeat"; do
  [[ $number =~ ^[1-9][0-9]{0,5}$ ]] || fail "found '$number', expected a number from 1 to 999999"
done
((${#models[@]} <= 2)) || fail "two models at most are taken, ${#models[@]} were given"

work=$(mktemp -d)
loops=0
# The shell lists its jobs itself. A list kept here would lack a loop that has just been started when a
# signal arrives.
end_loops() {
  local started
  started=$(jobs -p)
  # shellcheck disable=SC2086  # one word for each loop
  [[ -z $started ]] || kill -KILL $started 2>/dev/null || true
  wait 2>/dev/null || true
  loops=0
}
trap 'end_loops; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Each loop also checks now and then that this script still runs, so that it does not outlive a
# script that was killed.
begin_loops() {
  local count=$1 i
  for (( ; loops < count; ++loops)); do
    (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 200000; ++i)); do :; done; done) &
  done
}

choose_program
if ((${#models[@]} == 0)); then
  models=("$ROOT/data/signs_mobilenet.onnx" "$work/int8.onnx")
  "$program" calibrate "${models[0]}" --images "$ROOT/data/calib" \
    --preprocess "$ROOT/data/preprocess.json" -o "$work/table.json" --quiet >/dev/null
  "$program" quantize "${models[0]}" --table "$work/table.json" -o "${models[1]}" --quiet >/dev/null
fi

# Appends "load threads model milliseconds" for each model; the first time is FP32's.
measure() {
  "$program" bench "${models[0]}" ${models[1]:+--int8 "${models[1]}"} --threads "$2" \
    --repeat "$repeat" --json --quiet |
    LC_ALL=C awk -v load="$1" -v threads="$2" -F '[:,]' '
      /"median_seconds"/ { print load, threads, (seen++ ? "INT8" : "FP32"), 1000 * $2 }
      END { exit seen == 0 }' >>"$work/times"
}

say "$rounds rounds of ${#LOADS[@]} loads, ${#THREADS[@]} numbers of threads and ${#models[@]} models, \
$repeat runs each, on $(nproc) cores with a load of $(cut -d ' ' -f 1 /proc/loadavg)"
for ((round = 1; round <= rounds; ++round)); do
  for load in "${LOADS[@]}"; do
    begin_loops "$load"
    for threads in "${THREADS[@]}"; do measure "$load" "$threads"; done
  done
  end_loops
done

printf '%-10s %7s %5s %9s  %s\n' "busy loops" threads model "median ms" "least to largest"
LC_ALL=C sort -k1,1n -k2,2n -k3,3 -k4,4n "$work/times" | LC_ALL=C awk '
  function flush() {
    if (n) printf "%-10s %7s %5s %9.3f  %.3f to %.3f\n", load, threads, model,
      n % 2 ? ms[(n + 1) / 2] : (ms[n / 2] + ms[n / 2 + 1]) / 2, ms[1], ms[n]
    n = 0
  }
  { key = $1 " " $2 " " $3
    if (key != last) { flush(); last = key; load = $1; threads = $2; model = $3 }
    ms[++n] = $4 }
  END { flush() }'
