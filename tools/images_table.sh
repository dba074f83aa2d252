#!/usr/bin/env bash
# Prints the verdict of `qtool images` on calibration sets of different sizes, beside the SQNR of the outputs in dB that
# their tables give on other images. docs/research/calibration.md has its figures.
# Usage: tools/images_table.sh [--qtool PROGRAM] [--method NAME] MODEL CALIB EVAL [OPTION...]
#   --qtool      the program; default: the release preset, which is built
#   --method     the calibration method; default: the default of qtool
#   OPTION       of qtool calibrate, for example --preprocess imagenet
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program=
method=kl
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool) (($# > 1)) || fail "--qtool needs a value"; program=$2; shift 2 ;;
    --method) (($# > 1)) || fail "--method needs a value"; method=$2; shift 2 ;;
    *) break ;;
  esac
done
(($# >= 3)) || fail "expected MODEL CALIB EVAL; tools/images_table.sh --help says more"
model=$1 calib=$2 eval=$3
shift 3
if [[ -z $program ]]; then choose_builds; build_program; program=$QTOOL; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number() { # number KEY: the first number under that key of the JSON on standard input
  awk -v key="\"$1\": *" '
    !found && match($0, key "[-0-9.e]+") {
      value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value); print value; found = 1
    }'
}
# Disjoint sets of one size show the effect of chance. A set is every Nth image; up to four of the N
# sets are used.
echo "images   expected dB: median, 95 %      verdicts | SQNR dB of each set"
for parts in 40 20 10 4 2 1; do
  median=() tail=() verdicts=() sqnr=()
  for ((part = 1; part <= parts && part <= 4; ++part)); do
    set=(--images "$calib" --part "$part/$parts" --method "$method" "$@" -q)
    "$program" images "$model" "${set[@]}" --json >"$work/set.json"
    "$program" calibrate "$model" "${set[@]}" -o "$work/table.json" >/dev/null
    "$program" quantize "$model" --table "$work/table.json" -q -o "$work/int8.onnx" >/dev/null
    "$program" eval "$model" --int8 "$work/int8.onnx" --images "$eval" --json -q >"$work/eval.json"
    images=$(number samples <"$work/set.json")
    sed -n '/"expected_loss_db"/,/}/p' "$work/set.json" >"$work/expected"
    median+=("$(number median <"$work/expected")")
    tail+=("$(number of_95_percent <"$work/expected")")
    verdicts+=("$(sed -n 's/^  "enough": \(.*\),$/\1/p' "$work/set.json")")
    sqnr+=("$(number sqnr_db <"$work/eval.json")")
  done
  awk -v images="$images" -v median="${median[*]}" -v tail="${tail[*]}" -v verdicts="${verdicts[*]}" \
    -v sqnr="${sqnr[*]}" 'BEGIN {
    n = split(median, m); split(tail, t); split(verdicts, v); split(sqnr, s)
    for (i = 1; i <= n; ++i) {
      half += m[i] / n; most += t[i] / n; mean += s[i] / n
      enough += v[i] == "true"; each = each sprintf(" %.2f", s[i])
    }
    printf "%6d %20.3f %6.3f %7d of %d enough |%s, mean %.2f\n", images, half, most, enough, n, each, mean
  }'
done
