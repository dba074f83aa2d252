#!/usr/bin/env bash
# Prints the gain of `quantize --effort balanced` and `best` over `fast` on one network: SQNR of the outputs in dB
# and the share of images with FP32's answer, for the targets qtool and cpu. docs/research/accuracy.md has its figures.
# Usage: tools/effort_table.sh [--qtool PROGRAM] MODEL CALIB EVAL [OPTION...]
#   --qtool      the program; default: the release preset, which is built
#   OPTION       of qtool calibrate, for example --preprocess imagenet
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program=
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool) (($# > 1)) || fail "--qtool needs a value"; program=$2; shift 2 ;;
    *) break ;;
  esac
done
(($# >= 3)) || fail "expected MODEL CALIB EVAL; tools/effort_table.sh --help says more"
model=$1 calib=$2 eval=$3
shift 3
if [[ -z $program ]]; then choose_builds; build_program; program=$QTOOL; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" calibrate "$model" --images "$calib" --limit 100 "$@" -o "$work/table.json" -q >/dev/null
for target in qtool cpu; do
  for effort in fast balanced best; do
    options=(--target "$target" --effort "$effort")
    [[ $effort == fast ]] || options+=(--images "$calib" --limit 100)
    start=$(date +%s.%N)
    "$program" quantize "$model" --table "$work/table.json" "${options[@]}" -q -o "$work/int8.onnx" >/dev/null
    end=$(date +%s.%N)
    "$program" eval "$model" --int8 "$work/int8.onnx" --images "$eval" --json -q |
      awk -v row="$target $effort" -v seconds="$(awk "BEGIN { print $end - $start }")" '
        match($0, /"sqnr_db": *[-0-9.e]+/) {
          value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value)
          sqnr = sqnr (sqnr == "" ? "" : " / ") sprintf("%.2f", value)
        }
        match($0, /"agreement": *[0-9.e]+/) {
          value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value)
          agreement = sprintf(", %.2f %% as FP32", 100 * value)
        }
        END { printf "%-16s %s dB%s, %.1f s\n", row, sqnr, agreement, seconds }'
  done
done
