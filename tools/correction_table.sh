#!/usr/bin/env bash
# Shows whether bias correction from the table (the default) makes any network worse: SQNR in dB of each output of each
# network, on images it was not calibrated on, with --bias-correction off and with table, as a Markdown table.
# Exits with 1 where an output loses more than 0.05 dB.
# Usage: tools/correction_table.sh [--qtool PROGRAM] [--limit N] [--network NAME] [--options "OPTION..."] DATA
#   DATA         a folder with models/, models/wild/ and images/
#   --qtool      the program; default: the release preset, which is built
#   --limit      images for each part, at most (100)
#   --network    one network only, the name of its file without .onnx
#   --options    more options of qtool quantize, for example "--target qtool"
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program='' limit=100 only='' more=''
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool) (($# > 1)) || fail "--qtool needs a value"; program=$2; shift 2 ;;
    --limit) (($# > 1)) || fail "--limit needs a value"; limit=$2; shift 2 ;;
    --network) (($# > 1)) || fail "--network needs a value"; only=$2; shift 2 ;;
    --options) (($# > 1)) || fail "--options needs a value"; more=$2; shift 2 ;;
    *) break ;;
  esac
done
(($# == 1)) || fail "expected DATA; tools/correction_table.sh --help says more"
images=$1/images models=$1/models
if [[ -z $program ]]; then choose_builds; build_program; program=$QTOOL; fi
read -r -a options <<<"$more"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worse=0
imagenet=(--mean "123.675,116.28,103.53" --std "58.395,57.12,57.375")
yolox=(--letterbox 416x416 --fill 114 --mean 0 --std 1 --channels bgr)
printf '| network | calibrated on | judged on | off | table |\n|---|---|---|---|---|\n'

# SQNR of the outputs of the INT8 model, separated by /.
decibels() {
  "$program" eval "$1" --int8 "$work/int8.onnx" --images "$2" --limit "$limit" --json -q |
    awk 'match($0, /"sqnr_db": *[-0-9.e]+/) {
           value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value)
           text = text (text == "" ? "" : " / ") sprintf("%.2f", value)
         }
         END { print text }'
}

# measure NETWORK CALIB EVAL OPTION...: prints a row of the table. OPTION is an option of qtool
# calibrate.
measure() {
  local network=$1 calib=$2 judged=$3 off table
  local model=$models/$network.onnx
  shift 3
  [[ -z $only || $only == "$network" || wild/$only == "$network" ]] || return 0
  "$program" calibrate "$model" --images "$images/$calib" --limit "$limit" "$@" -o "$work/table.json" -q >/dev/null
  quantize() { "$program" quantize "$model" --table "$work/table.json" "${options[@]}" -o "$work/int8.onnx" -q "$@" >/dev/null; }
  quantize --bias-correction off
  off=$(decibels "$model" "$images/$judged")
  quantize
  table=$(decibels "$model" "$images/$judged")
  printf '| %s | %s | %s | %s | %s |\n' "${network#wild/}" "$calib" "$judged" "$off" "$table"
  if ! awk -v off="$off" -v table="$table" 'BEGIN {
         n = split(off, a, " / "); split(table, b, " / ")
         for (i = 1; i <= n; ++i) if (b[i] < a[i] - 0.05) exit 1
       }'; then
    worse=$((worse + 1))
  fi
}

measure squeezenet1.1 photos/calib photos/eval --resize 224x224 "${imagenet[@]}"
measure mobilenet_v2_1.0_224 photos/calib photos/eval --resize 224x224 --mean 127.5 --std 127.5
measure cifar10_resnet20 cifar10/calib cifar10/eval "${imagenet[@]}"
measure ultraface_rfb_320 photos/calib faces --resize 320x240 --mean 127 --std 128
measure ultraface_rfb_320 faces photos/eval --resize 320x240 --mean 127 --std 128
measure fastestdet_coco_352 photos/calib photos/eval --resize 352x352 --mean 0 --std 255 --channels bgr
measure fastestdet_coco_352 photos/calib street --resize 352x352 --mean 0 --std 255 --channels bgr
measure wild/yolox_nano_416 photos/calib photos/eval "${yolox[@]}"
measure wild/yolox_nano_416 photos/calib street "${yolox[@]}"
measure wild/blazeface_back_256 photos/calib faces --resize 256x256 --mean 127.5 --std 127.5 --layout nhwc
measure wild/blazeface_back_256 photos/calib photos/eval --resize 256x256 --mean 127.5 --std 127.5 --layout nhwc
measure wild/ppocr_v2_det_ch photos/calib photos/eval --resize 320x320 "${imagenet[@]}" --channels bgr
measure wild/ppocr_v2_det_ch photos/calib street --resize 320x320 "${imagenet[@]}" --channels bgr
measure wild/ppocr_v2_rec_en photos/calib photos/eval --resize 320x32 --mean 127.5 --std 127.5 --channels bgr
measure wild/ppocr_v2_rec_en photos/calib street --resize 320x32 --mean 127.5 --std 127.5 --channels bgr
((worse == 0)) || fail "$worse rows have an output that loses more than 0.05 dB"
