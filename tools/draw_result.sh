#!/usr/bin/env bash
# Draws docs/result.svg, the image in README: what INT8 costs and gains on the two networks of
# data/. Every number comes from the program: file sizes, `qtool eval --json` over data/test and
# `qtool infer --json` on one image. Colours follow the reader's light or dark theme.
# Usage: tools/draw_result.sh [--qtool PROGRAM] [FILE]
#   FILE     default: docs/result.svg
#   --qtool  the program to run; default: the release preset, which is built
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program= out=$ROOT/docs/result.svg
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool)
      (($# >= 2)) || fail "$1 needs a value"
      program=$(realpath -- "$2")
      shift 2 ;;
    -*) fail "unknown option '$1'; tools/draw_result.sh --help lists what there is" ;;
    *) out=$(realpath -m -- "$1"); shift ;;
  esac
done
choose_program

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly PHOTO=data/test/blue_circle_arrow_left/006.jpg
cd "$ROOT"

# Values of a key in the order of a pretty-printed JSON file, one per line.
json_values() { sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$1"; }

# Appends lines "network key FP32 INT8" to $work/values.
measure() {
  local network=$1 model=data/$1.onnx table=$work/table.json int8=$work/int8.onnx
  "$program" calibrate "$model" --images data/calib --preprocess data/preprocess.json -o "$table" \
    --quiet >"$work/log"
  "$program" quantize "$model" --table "$table" -o "$int8" --quiet >"$work/log"
  "$program" eval "$model" --int8 "$int8" --images data/test --labels data/labels.txt --json \
    --quiet >"$work/eval"
  "$program" infer "$model" --int8 "$int8" --image "$PHOTO" --labels data/labels.txt --top 1 --json \
    --quiet >"$work/infer"
  {
    echo "$network" size "$(stat -c %s "$model")" "$(stat -c %s "$int8")"
    echo "$network" top1 $(json_values "$work/eval" top1)
    echo "$network" speed $(json_values "$work/eval" images_per_second)
    echo "$network" agreement $(json_values "$work/eval" agreement)
    echo "$network" class $(json_values "$work/infer" name | head -2)
    echo "$network" probability $(json_values "$work/infer" probability)
  } >>"$work/values"
}
say "Running the two networks of data/"
measure signs_mobilenet
measure signs_resnet
images=$(json_values "$work/eval" images | head -1)

# Among the bars of one quantity, the longest is as long as the panel allows.
LC_ALL=C awk -v images="$images" -v threads="$(nproc)" -v photo="$(base64 -w 0 "$PHOTO")" '
  { fp32[$1, $2] = $3; int8[$1, $2] = $4; if (!seen[$1]++) networks[++n] = $1 }
  function text(x, y, kind, words) {
    printf "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, kind, words
  }
  function bar(x, y, width, kind, label) {
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"13\" rx=\"2\" class=\"%s\"/>\n", x, y,
      width, kind
    text(x + width + 6, y + 11, "number", label)
  }
  function panel(x, title, key, factor, format,    i, y, largest) {
    text(x, 112, "head", title)
    for (i = 1; i <= n; ++i) {
      if (fp32[networks[i], key] > largest) largest = fp32[networks[i], key]
      if (int8[networks[i], key] > largest) largest = int8[networks[i], key]
    }
    for (i = 1; i <= n; ++i) {
      y = 126 + 56 * (i - 1)
      bar(x, y, 150 * fp32[networks[i], key] / largest, "fp32",
        sprintf(format, factor * fp32[networks[i], key]))
      bar(x, y + 17, 150 * int8[networks[i], key] / largest, "int8",
        sprintf(format, factor * int8[networks[i], key]))
    }
  }
  END {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 250\" role=\"img\">"
    print "<title>FP32 and INT8 of the two example networks: size, accuracy and speed</title>"
    print "<!-- Made by tools/draw_result.sh; do not edit. -->"
    print "<style>"
    print "text { font: 13px -apple-system, \"Segoe UI\", \"DejaVu Sans\", sans-serif; fill: #1f2328 }"
    print ".head { font-weight: 600 } .number, .note { fill: #59636e; font-size: 12px }"
    print ".card { fill: #ffffff; stroke: #d1d9e0 } .fp32 { fill: #8c959f } .int8 { fill: #0969da }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #f0f6fc } .number, .note { fill: #9198a1 }"
    print ".card { fill: #0d1117; stroke: #3d444d } .fp32 { fill: #656c76 } .int8 { fill: #4493f8 }"
    print "}</style>"
    print "<rect x=\"0.5\" y=\"0.5\" width=\"879\" height=\"249\" rx=\"8\" class=\"card\"/>"
    printf "<image x=\"24\" y=\"20\" width=\"64\" height=\"64\" href=\"data:image/jpeg;base64,%s\"/>\n",
      photo
    first = networks[1]
    text(104, 36, "head", "One test image, both models of " first)
    printf "<rect x=\"104\" y=\"46\" width=\"11\" height=\"11\" rx=\"2\" class=\"fp32\"/>\n"
    text(122, 56, "", sprintf("FP32: %s, %.2f %%", fp32[first, "class"], 100 * fp32[first, "probability"]))
    printf "<rect x=\"104\" y=\"66\" width=\"11\" height=\"11\" rx=\"2\" class=\"int8\"/>\n"
    text(122, 76, "", sprintf("INT8: %s, %.2f %%", int8[first, "class"], 100 * int8[first, "probability"]))
    for (i = 1; i <= n; ++i) {
      text(24, 143 + 56 * (i - 1), "", networks[i])
      text(24, 159 + 56 * (i - 1), "note", sprintf("same class: %.1f %%", 100 * fp32[networks[i], "agreement"]))
    }
    panel(180, "File, KB", "size", 0.001, "%.0f")
    panel(410, "Top-1 of " images " images, %", "top1", 100, "%.1f")
    panel(640, "Images per second, " threads " cores", "speed", 1, "%.0f")
    print "</svg>"
  }' "$work/values" >"$work/svg"
mv "$work/svg" "$out"
say "Wrote $out"
