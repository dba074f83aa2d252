#!/usr/bin/env bash
# Shows qtool at work on the embedded example, two small networks that read road signs: installs
# what is missing (Debian 12), builds, then runs calibrate, quantize, infer and eval.
# Usage: tools/demo.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_packages "${BUILD_PACKAGES[@]}"
build_release qtool

data=$ROOT/data
out=$ROOT/build/demo
mkdir -p "$out"

# Prints a command as a user would type it from the source folder, then runs it.
show() {
  local line="qtool ${*:1}"
  printf '\n$ %s\n' "${line//"$ROOT"\//}"
  "$QTOOL" "$@"
}
# The values of a key in JSON from `qtool --json`, one per line, in order.
values() { sed -n "s/^ *\"$2\": \\([^,]*\\),*$/\\1/p" "$1"; }

rows=()
for name in signs_resnet signs_mobilenet; do
  model=$data/$name.onnx
  int8=$out/$name.int8.onnx
  printf '\n== %s ==\n' "$name"
  show calibrate "$model" --images "$data/calib" --preprocess "$data/preprocess.json" \
    -o "$out/$name.table.json" >"$out/calibrate.txt"
  sed -n '2p' "$out/calibrate.txt"  # the command; its table of all tensors is long
  tail -n 1 "$out/calibrate.txt"
  show quantize "$model" --table "$out/$name.table.json" -o "$int8"
  show infer "$model" --int8 "$int8" --image "$data/test/red_triangle_bolt/000.jpg" \
    --labels "$data/labels.txt" --threads 1
  show eval "$model" --int8 "$int8" --images "$data/test" --labels "$data/labels.txt" --json \
    >"$out/eval.txt"
  sed -n '2p' "$out/eval.txt"
  mapfile -t top1 < <(values "$out/eval.txt" top1)
  mapfile -t rate < <(values "$out/eval.txt" images_per_second)
  agreement=$(values "$out/eval.txt" agreement)
  size=("$(stat -c %s "$model")" "$(stat -c %s "$int8")")
  rows+=("$name ${top1[*]} $agreement ${size[*]} ${rate[*]}")
done

printf '\n'
printf '%s\n' "${rows[@]}" | LC_ALL=C awk '
  BEGIN {
    printf "%-16s %9s %9s %10s %9s %9s %10s %10s\n", "network", "FP32", "INT8", "same", "FP32",
      "INT8", "FP32", "INT8"
    printf "%-16s %9s %9s %10s %9s %9s %10s %10s\n", "", "top-1", "top-1", "answer", "size",
      "size", "images/s", "images/s"
  }
  {
    printf "%-16s %7.2f %% %7.2f %% %8.2f %% %6.0f KB %6.0f KB %10.0f %10.0f\n", $1, 100 * $2,
      100 * $3, 100 * $4, $5 / 1024, $6 / 1024, $7, $8
  }'
printf '\nThe tables and INT8 models are in %s\n' "${out#"$ROOT"/}"
