#!/usr/bin/env bash
# Runs the checks for which .ci/run has no time. Run it before an issue is called resolved. It takes hours
# on two cores. Each part runs even if others failed; the last lines say whether each passed.
#   sanitizers   every suite under clang with addresses and undefined behaviour checked
#   threads      every suite of GoogleTest, and commands that use threads, under ThreadSanitizer
#   alone        everything, each file compiled by itself instead of in batches
#   networks     the tests on torchvision's networks, which need large packages
#   fuzzing      every fuzz target, an hour of processor time in all
#   bare         README's two commands on a bare Debian 12 (tools/bare.sh)
# Usage: tools/check.sh [PART...]    e.g. tools/check.sh alone bare; default: every part
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
PARTS=(sanitizers threads alone networks fuzzing bare)
FUZZ_MINUTES=60
export QTOOL_TEST_SEED=random # of tests that take the same seed elsewhere

check() {
  case $1 in
    sanitizers)
      build fuzz -DQTOOL_ALL_TESTS=ON qtool qtool_unit_tests qtool_conformance_tests qtool_nodes_tests \
        qtool_golden_tests qtool_toys_tests qtool_fuzz_targets
      run_tests fuzz --preset fuzz --parallel "$(nproc)" -R '^(unit|conformance|nodes|golden|toys|cli|fuzz)\.'
      ;;
    threads)
      build tsan -DQTOOL_ALL_TESTS=ON qtool qtool_unit_tests qtool_conformance_tests qtool_nodes_tests \
        qtool_golden_tests
      run_tests tsan --preset tsan --parallel "$(nproc)" \
        -R '^(unit|conformance|nodes|golden)\.|^cli\.(bench|calibrate|end_to_end|eval|infer|interrupt|progress|search)'
      ;;
    alone)
      BUILDS=$BUILDS/alone
      mkdir -p "$BUILDS"
      build release -DQTOOL_BATCHES=OFF -DQTOOL_BUILD_TESTS=ON -DQTOOL_BUILD_BENCHMARKS=ON
      ;;
    networks)
      require_packages "${NETWORK_PACKAGES[@]}"
      require_node
      build_all
      # A skipped test would mean that the packages do not work.
      run_tests release -R '^interop\.(install|torchvision)$' | tee "$BUILDS/networks.log"
      tail -n 1 "$BUILDS/networks.log" | grep -q ' 0 failed, 0 skipped'
      ;;
    fuzzing) "$ROOT/tools/fuzz.sh" "$FUZZ_MINUTES" ;;
    bare) "$ROOT/tools/bare.sh" ;;
  esac
}

case ${1-} in
  -h | --help) script_help "$0"; exit 0 ;;
esac
for name in "$@"; do
  [[ " ${PARTS[*]} " == *" $name "* ]] || fail "no part '$name', there are: ${PARTS[*]}"
done
(($#)) || set -- "${PARTS[@]}"
choose_builds
(require_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CHECK_PACKAGES[@]}") || exit 1
cd "$ROOT" || exit 1

rows=()
passed=yes
for name in "$@"; do
  say "" "=== $name"
  began=$SECONDS
  became=passed
  (check "$name") || { became=failed; passed=no; }
  rows+=("$(printf '%-12s %6d s   %s' "$name" $((SECONDS - began)) "$became")")
done
say "" "${rows[@]}"
[[ $passed == yes ]]
