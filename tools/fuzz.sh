#!/usr/bin/env bash
# Builds the fuzz preset and runs every target for its share of MINUTES, and random networks against
# each other; as many at once as there are cores, so that MINUTES are of processor time. Prints
# executions, coverage and findings; ends with 1 when there is a finding.
# Usage: tools/fuzz.sh MINUTES|fixed [target ...]     e.g. tools/fuzz.sh 10 run_model quantize_model
# New inputs are kept in build/fuzz/corpus, findings in build/fuzz/findings.
# `fixed` runs a fixed number of inputs of each target. They are made with a fixed seed from the inputs in
# tests/fuzz/corpus, so another run of the same program has the same findings.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then script_help "$0"; exit 0; fi
MINUTES=${1:-}
[[ $MINUTES =~ ^([0-9]+([.][0-9]+)?|fixed)$ ]] || fail "expected a number of minutes or fixed, see tools/fuzz.sh --help"
shift
require_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CHECK_PACKAGES[@]}"
choose_builds
build fuzz qtool_fuzz_targets
cd "$ROOT"
OUT=$BUILDS/fuzz

# Shares of the time. Targets that run whole models get more: they are slow and reach much code.
declare -A SHARES=(
  [run_model]=6 [quantize_model]=6 [load_onnx]=2 [read_table]=1 [read_formats]=1
  [read_statistics]=1 [read_settings]=1 [read_lists]=1 [read_tensors]=1 [read_partial]=1 [decode_image]=1
  [compare_networks]=2
)
# The number of inputs of a fixed run, about 12 s of processor time for each share.
declare -A FIXED=(
  [run_model]=12000 [quantize_model]=10000 [load_onnx]=80000 [read_table]=40000 [read_formats]=40000
  [read_statistics]=40000 [read_settings]=40000 [read_lists]=40000 [read_tensors]=40000 [read_partial]=40000
  [decode_image]=40000 [compare_networks]=50
)
TARGETS=("$@")
(($#)) || mapfile -t TARGETS < <(printf '%s\n' "${!SHARES[@]}" | sort)
total=0
for target in "${TARGETS[@]}"; do
  [[ -v SHARES[$target] ]] || fail "no target '$target', there are: ${!SHARES[*]}"
  total=$((total + SHARES[$target]))
done

# Libraries built without sanitizers keep memory until the process ends. These leaks are not
# reported.
export LSAN_OPTIONS=suppressions=$ROOT/tests/fuzz/lsan.supp:print_suppressions=0
# Larger allocations fail, because filling them would make executions slow. If a small input must
# not ask for so much memory at once, such a failure is a finding.
# Short stacks of allocations and little freed memory kept back make executions faster.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=256:malloc_context_size=8:quarantine_size_mb=16
export UBSAN_OPTIONS=print_stacktrace=1
readonly CORES=$(nproc)  # before the next line: nproc follows OMP_NUM_THREADS
export OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=${ONEDNN_MAX_CPU_ISA:-AVX2}

# The folders of inputs that a target starts from, in addition to the inputs that earlier runs kept.
seeds_of() {
  case $1 in
    decode_image) echo tests/golden/image ;;
    load_onnx | *_model)
      printf '%s\n' tests/fuzz/corpus/load_onnx tests/fuzz/corpus/models
      [[ $MINUTES == fixed || ! -d $OUT/suite ]] || echo "$OUT/suite"
      ;;
    *) echo tests/fuzz/corpus/"$1" ;;
  esac
}
dictionary_of() {
  case $1 in
    load_onnx | *_model) echo onnx ;;
    decode_image | read_lists | read_partial) ;;
    read_tensors) echo tensors ;;
    *) echo json ;;
  esac
}

# The small models of ONNX's backend suite, where it is installed.
if [[ ! -d $OUT/suite && -d /usr/share/libonnx-testdata/data ]]; then
  mkdir "$OUT/suite"
  number=0
  while read -r model; do
    cp "$model" "$OUT/suite/$((++number)).onnx"
  done < <(find /usr/share/libonnx-testdata/data -name '*.onnx' -size -9k | sort)
fi

seconds_of() {
  LC_ALL=C awk -v m="$MINUTES" -v s="${SHARES[$1]}" -v t="$total" 'BEGIN { printf "%d", m * 60 * s / t + 0.5 }'
}

# Sets `options` to what a target starts from and how much it runs. A fixed run names the files itself,
# because each file system lists a folder in its own order, and allows an input 60 s, because the machine
# may do other work.
choose_options() { # choose_options TARGET
  local target=$1 corpus=$OUT/corpus/$1 seeds list
  mapfile -t seeds < <(seeds_of "$target")
  case $MINUTES,$target in
    fixed,compare_networks) options=(41 "${FIXED[$target]}") ;;  # CTest compares the first 40
    *,compare_networks) options=(--seconds "$(seconds_of "$target")") ;;
    fixed,*)
      corpus=$OUT/fixed/$target
      rm -rf "$corpus"
      mkdir -p "$corpus"
      list=$(find "${seeds[@]}" -type f | LC_ALL=C sort | paste -s -d ,)
      options=("$corpus" -seed_inputs="$list" -seed=1 -runs="${FIXED[$target]}" -reload=0
        -timeout=60 -report_slow_units=60)
      ;;
    *)
      mkdir -p "$corpus"
      options=("$corpus" "${seeds[@]}" -max_total_time="$(seconds_of "$target")" -timeout=10
        -report_slow_units=10)
      ;;
  esac
}

# Runs one target, prints its row, and adds "executions findings" to the totals.
run_target() {
  local target=$1 options log=$OUT/$1.log status=0 executions=0 found=0 began=$SECONDS
  choose_options "$target"
  if [[ $target == compare_networks ]]; then
    "$OUT/tests/fuzz/qtool_$target" "${options[@]}" >"$log" 2>&1 || status=$?
    row=$(printf '%-18s %8d  %s' "$target" $((SECONDS - began)) "$(tail -n 1 "$log")")
    if ((status)); then
      found=1
      row+=$'\n'$(sed 's/^/  /' "$log")
    fi
  else
    local before after last dictionary edges features
    mkdir -p "$OUT/findings/$target"
    before=$(find "$OUT/findings/$target" -type f | wc -l)
    # -entropic=0 below: with thousands of inputs, counting rare features takes half of the time.
    dictionary=$(dictionary_of "$target")
    "$OUT/tests/fuzz/qtool_${target}_fuzz" "${options[@]}" \
      ${dictionary:+-dict=tests/fuzz/$dictionary.dict} -max_len=16384 \
      -entropic=0 -rss_limit_mb=2048 -malloc_limit_mb=0 -print_final_stats=1 \
      -artifact_prefix="$OUT/findings/$target/" >"$log" 2>&1 || status=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    last=$(grep -a -E 'cov: [0-9]+' "$log" | tail -n 1) || true
    edges=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' <<<"$last")
    features=$(sed -n 's/.*ft: \([0-9]*\).*/\1/p' <<<"$last")
    after=$(find "$OUT/findings/$target" -type f | wc -l)
    found=$((after - before))
    ((status == 0 || found > 0)) || found=1
    row=$(printf '%-18s %8d %12d %9d %9d  %d' "$target" $((SECONDS - began)) "${executions:-0}" \
      "${edges:-0}" "${features:-0}" "$found")
    if ((found)); then
      row+=$'\n'$(grep -a -E \
        'ERROR:|runtime error:|SUMMARY|internal error|Test unit written|what was emitted' "$log" |
        sed 's/^/  /' | tail -n 8) || true
    fi
  fi
  printf '%s\n' "$row"
  printf '%s\n' "${executions:-0} $found" >>"$OUT/totals"
}

printf '%-18s %8s %12s %9s %9s  %s\n' target seconds executions edges features findings
: >"$OUT/totals"
# Starts the longest targets first, so that all cores end at about the same time.
mapfile -t TARGETS < <(for target in "${TARGETS[@]}"; do echo "${SHARES[$target]} $target"; done |
  sort -k1,1nr -k2 | cut -d ' ' -f 2)
running=0
for target in "${TARGETS[@]}"; do
  ((running < CORES)) || { wait -n || true; running=$((running - 1)); }
  run_target "$target" &
  running=$((running + 1))
done
wait
read -r ended executions findings < <(awk '{ e += $1; f += $2 } END { print NR, e + 0, f + 0 }' "$OUT/totals")
((ended == ${#TARGETS[@]})) || findings=$((findings + 1))  # a target ended without printing its row
say "" "$executions executions, $findings findings (logs: $OUT/*.log)"
((findings == 0))
