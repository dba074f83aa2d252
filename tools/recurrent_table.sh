#!/usr/bin/env bash
# Quantizes two networks with recurrent layers in static and in dynamic mode, and compares them with FP32.
# silero_vad detects speech: an LSTM whose state is fed back from chunk to chunk; the agreement is the share of equal
# decisions. It is quantized with --wide '*' too, because sound has more than 8 bits. ppocr_v2_rec reads words: a
# bidirectional LSTM, calibrated on 100 rendered words; the agreement is the share of 200 other words with the same
# text. It is quantized with --effort balanced too. Prints the bytes of the files, the agreement, the SQNR, and the
# time of INT8 as a share of the time of FP32, the median of runs that take turns.
# Usage: tools/recurrent_table.sh [--qtool PROGRAM] [--repeat N] DATA
#   DATA      a folder with models/silero_vad_16k_lstm.onnx, models/wild/ppocr_v2_rec_en.onnx and audio/speech_16k.wav
#   --qtool   the program; default: the release preset, which is built
#   --repeat  timed runs of each model; default 300
# Needs Debian's fonts-dejavu-core, libstb-dev and jq.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

program= data= repeat=300
while (($#)); do
  case $1 in
    -h | --help) script_help "$0"; exit 0 ;;
    --qtool | --repeat)
      (($# >= 2)) || fail "$1 needs a value"
      if [[ $1 == --qtool ]]; then program=$2; else repeat=$2; fi
      shift 2 ;;
    -*) fail "unknown option '$1'; tools/recurrent_table.sh --help lists what there is" ;;
    *) [[ -z $data ]] || fail "one folder is taken, a second was given: $1"; data=$1; shift ;;
  esac
done
[[ -n $data ]] || fail "which folder? tools/recurrent_table.sh --help says what must be in it"
speech=$data/audio/speech_16k.wav vad=$data/models/silero_vad_16k_lstm.onnx
reader=$data/models/wild/ppocr_v2_rec_en.onnx fonts=/usr/share/fonts/truetype/dejavu
for file in "$speech" "$vad" "$reader" "$fonts/DejaVuSans.ttf"; do
  [[ -f $file ]] || fail "'$file' is not there"
done
[[ $repeat =~ ^[1-9][0-9]{0,5}$ ]] || fail "found '$repeat', expected a number from 1 to 999999"
choose_program

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
words=$ROOT/tools/make_words
"${CXX:-g++}" -std=c++20 -O1 -isystem /usr/include/stb "$words/render_words.cpp" -o "$work/render_words"
mkdir "$work/calib" "$work/eval"
faces=("$fonts"/DejaVu{Sans,Serif,SansMono,Sans-Bold,Serif-Bold}.ttf)
"$work/render_words" "$words/words.txt" 0 100 "$work/calib" "${faces[@]}"
"$work/render_words" "$words/words.txt" 100 200 "$work/eval" "${faces[@]}"

sound=(--inputs "$speech" --hop 512 --state state=stateN)
picture=(--resize 320x32 --channels bgr --mean 127.5,127.5,127.5 --std 127.5,127.5,127.5)

# row NAME MODEL INT8 MEMBER EVAL_OPTION... -- BENCH_OPTION...
row() {
  local name=$1 model=$2 int8=$3 member=$4
  shift 4
  local -a eval_options=() bench_options=()
  while [[ $1 != -- ]]; do eval_options+=("$1"); shift; done
  shift
  bench_options=("$@")
  # Results go to files, because command line arguments cannot hold the results of every sample.
  "$program" eval "$model" --int8 "$int8" "${eval_options[@]}" --json -q >"$work/compared.json"
  "$program" bench "$model" --int8 "$int8" "${bench_options[@]}" --threads 1 --repeat "$repeat" --json -q >"$work/timed.json"
  jq -nr --arg name "$name" --slurpfile compared "$work/compared.json" --slurpfile timed "$work/timed.json" \
    --argjson fp32 "$(stat -c %s "$model")" --argjson int8 "$(stat -c %s "$int8")" --arg member "$member" '
    $compared[0] as $compared | $timed[0] as $timed | $compared[$member] as $answers |
    "| \($name) | \($fp32) | \($int8) | \(($fp32 / $int8 * 100 | round) / 100) | \($answers.equal) of \($answers.all) | "
    + "\(($answers.agreement * 10000 | round) / 100) % | \(($compared.outputs[0].sqnr_db * 10 | round) / 10) | "
    + "\(($timed.int8.median_seconds / $timed.fp32.median_seconds * 100 | round) / 100) |"'
}

echo "| network, mode | FP32 bytes | INT8 bytes | smaller by | the same | | SQNR, dB | time |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|"
"$program" calibrate "$vad" "${sound[@]}" --target qtool -o "$work/vad.json" -q >/dev/null
"$program" quantize "$vad" --table "$work/vad.json" --target qtool -o "$work/vad.static.onnx" -q >/dev/null
"$program" quantize "$vad" --mode dynamic --target qtool -o "$work/vad.dynamic.onnx" -q >/dev/null
"$program" quantize "$vad" --table "$work/vad.json" --target qtool --wide '*' -o "$work/vad.wide.onnx" -q >/dev/null
for mode in static wide dynamic; do
  row "silero_vad, ${mode/wide/static, --wide \'*\'}" "$vad" "$work/vad.$mode.onnx" decisions "${sound[@]}" --decision 0.5 \
    -- --shape input=1x576 --shape state=2x1x128
done
"$program" calibrate "$reader" --images "$work/calib" "${picture[@]}" --target qtool --method auto --save-statistics \
  -o "$work/reader.json" -q >/dev/null
"$program" quantize "$reader" --table "$work/reader.json" --target qtool -o "$work/reader.static.onnx" -q >/dev/null
"$program" quantize "$reader" --table "$work/reader.json" --target qtool --effort balanced --images "$work/calib" \
  -o "$work/reader.balanced.onnx" -q >/dev/null
"$program" quantize "$reader" --mode dynamic --target qtool -o "$work/reader.dynamic.onnx" -q >/dev/null
for mode in static balanced dynamic; do
  row "ppocr_v2_rec, ${mode/balanced/static, --effort balanced}" "$reader" "$work/reader.$mode.onnx" texts --images "$work/eval" "${picture[@]}" --text 0 \
    -- --shape 1x3x32x320
done
