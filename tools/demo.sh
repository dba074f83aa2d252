#!/usr/bin/env bash
# Shows the whole way on the embedded example: installs what is missing (Debian 12), builds, then
# calibrate -> quantize -> infer -> eval for both networks of data/, and a table at the end.
# Every command is shown before it runs. The first build takes most of the time; docs/contributing.md
# has measured times.
# Usage: tools/demo.sh [FOLDER]    where the tables and models go; default: demo beside the builds
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case ${1-} in
  -h | --help) script_help "$0"; exit 0 ;;
  -*) fail "unknown option '$1'; tools/demo.sh --help lists what there is" ;;
esac
(($# <= 1)) || fail "one folder at most is taken, $# arguments were given"
out=${1:+$(realpath -m -- "$1")}
require_packages "${BUILD_PACKAGES[@]}"
choose_builds
build_program
OUT=${out:-$BUILDS/demo}
mkdir -p "$OUT"
cd "$ROOT"

run() {
  say ""
  show "$QTOOL" "$@"
  "$QTOOL" "$@"
}

# json_number FILE KEY [N]: prints the Nth number with this key in a pretty-printed JSON file;
# default: the first.
json_number() { sed -n "s/^ *\"$2\": *\([-0-9.e+]*\),\{0,1\}$/\1/p" "$1" | sed -n "${3:-1}p"; }

rows=()
for network in signs_mobilenet signs_resnet; do
  model=data/$network.onnx
  table=$OUT/$network.table.json
  int8=$OUT/$network.int8.onnx
  result=$OUT/$network.eval.json
  run calibrate "$model" --images data/calib --preprocess data/preprocess.json -o "$table"
  run quantize "$model" --table "$table" -o "$int8"
  run infer "$model" --int8 "$int8" --image data/test/blue_circle_arrow_left/006.jpg --labels data/labels.txt

  run eval "$model" --int8 "$int8" --images data/test --labels data/labels.txt --json >"$result"
  rows+=("$(LC_ALL=C awk -v name="$network" -v size="$(stat -c %s "$model")" \
    -v small="$(stat -c %s "$int8")" -v fp32="$(json_number "$result" top1 1)" \
    -v int8="$(json_number "$result" top1 2)" -v same="$(json_number "$result" agreement)" \
    -v slow="$(json_number "$result" images_per_second 1)" \
    -v fast="$(json_number "$result" images_per_second 2)" 'BEGIN {
      printf "%-16s %7.0f KB %7.0f KB %8.1f %% %8.1f %% %9.1f %% %8.2fx", name, size / 1000,
        small / 1000, 100 * fp32, 100 * int8, 100 * same, fast / slow }')")
done

printf '\n%-16s %10s %10s %10s %10s %11s %9s\n' network "FP32 size" "INT8 size" "FP32 top-1" \
  "INT8 top-1" "same answer" speed-up
printf '%s\n' "${rows[@]}"
printf '\nThe INT8 models are standard ONNX: %s\n' "$OUT"
