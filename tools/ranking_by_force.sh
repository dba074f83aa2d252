#!/usr/bin/env bash
# Shows how far analyze's ranking of layers agrees with brute force: each layer with weights alone on
# integers, all other nodes excluded, quantized with the ranges of the whole model and evaluated on the
# same images.
# Prints Spearman's rank correlation of the two, and whether the worst three layers are the same.
# Usage: tools/ranking_by_force.sh [--qtool PROGRAM] [--limit N] [--show] MODEL CALIB EVAL [OPTION...]
#   CALIB, EVAL  images to calibrate on and to compare on
#   OPTION       of calibrate, that say how images are prepared
#   --qtool      the program; default: the release preset, which is built
#   --limit      images to compare on; default 8
#   --show       both figures of every layer too
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program= limit=8 show_all=
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool | --limit)
      (($# >= 2)) || fail "$1 needs a value"
      case $1 in --qtool) program=$2 ;; --limit) limit=$2 ;; esac
      shift 2 ;;
    --show) show_all=1; shift ;;
    *) break ;;
  esac
done
[[ $limit =~ ^[1-9][0-9]{0,5}$ ]] || fail "found '$limit', expected a number from 1 to 999999"
(($# >= 3)) || fail "expected MODEL CALIB EVAL; tools/ranking_by_force.sh --help says more"
model=$1 calib=$2 eval=$3
shift 3
choose_program

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" calibrate "$model" --images "$calib" --limit 50 "$@" -o "$work/table.json" -q >/dev/null
"$program" analyze "$model" --table "$work/table.json" --images "$eval" --limit "$limit" \
  --suggest 0 --json -q >"$work/analysis.json"

# "layer <tab> noise" from analyze, and below the nodes that run on integers. Names stay quoted as
# in JSON.
LC_ALL=C awk '
  /^ *"layer": / { sub(/^ *"layer": /, ""); sub(/,$/, ""); name = $0 }
  /^ *"layer_noise": / { print name "\t" $2 }' "$work/analysis.json" >"$work/layers"
# The ranges of the whole model. A Concat gives its operands a common range, which a layer alone
# would not have.
LC_ALL=C awk '
  /^ *"name": / { sub(/^ *"name": /, ""); sub(/,$/, ""); name = $0 }
  /^ *"kind": / { activation = $2 ~ /activation/ }
  activation && /^ *"range": \[/ {
    getline low; getline high; gsub(/[ ,]/, "", low); gsub(/[ ,]/, "", high)
    if (low != high) ranges = ranges (ranges == "" ? "" : ",") name ": [" low "," high "]"
  }
  END { print "\"ranges\": {" ranges "}" }' "$work/analysis.json" >"$work/ranges"
"$program" quantize "$model" --table "$work/table.json" -o "$work/int8.onnx" --json -q |
  LC_ALL=C awk '
    /^ *"node": / { sub(/^ *"node": /, ""); sub(/,$/, ""); name = $0 }
    /^ *"role": "integer"/ { print name }' >"$work/nodes"
[[ -s $work/layers && -s $work/nodes ]] || fail "nothing of '$model' runs on integers"

# The noise of one layer alone: the mean over the outputs, as analyze counts it.
while IFS=$'\t' read -r layer noise; do
  LC_ALL=C awk -v layer="${layer//\\/\\\\}" '
    $0 != layer { names = names (names == "" ? "" : ",") $0 }
    END { print "{\"exclude\": [" names "]," }' "$work/nodes" >"$work/others.json"
  cat "$work/ranges" - <<<"}" >>"$work/others.json"
  "$program" quantize "$model" --table "$work/table.json" --overrides "$work/others.json" \
    -o "$work/alone.onnx" -q >/dev/null
  "$program" eval "$model" --int8 "$work/alone.onnx" --images "$eval" --limit "$limit" --json -q |
    LC_ALL=C awk -F '[:,]' -v layer="${layer//\\/\\\\}" -v noise="$noise" '
      /"pooled_sqnr_db"/ { sum += 10 ^ (-$2 / 10); ++outputs }
      END { if (!outputs) exit 1; printf "%s\t%s\t%.9g\n", layer, noise, sum / outputs }'
done <"$work/layers" >"$work/both"

((${#show_all} == 0)) || LC_ALL=C sort -t $'\t' -k3,3gr "$work/both"
LC_ALL=C awk -F '\t' -v model="$(basename "$model")" '
  { name[NR] = $1; predicted[NR] = $2 + 0; measured[NR] = $3 + 0 }
  END {
    if (NR < 4) { print model ": only " NR " layers"; exit 1 }
    for (i = 1; i <= NR; ++i) {
      p = m = 1
      for (j = 1; j <= NR; ++j) { p += predicted[j] > predicted[i]; m += measured[j] > measured[i] }
      squares += (p - m) ^ 2
      if (p <= 3) worst[name[i]] = 1
      if (m <= 3) found[name[i]] = m
    }
    for (one in found) { common += one in worst; first[found[one]] = one }
    printf "%-28s %3d layers  Spearman %.3f  %d of the worst 3 the same (%s %s %s)\n", model, NR,
      1 - 6 * squares / (NR * (NR * NR - 1)), common, first[1], first[2], first[3]
  }' "$work/both"
