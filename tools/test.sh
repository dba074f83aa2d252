#!/usr/bin/env bash
# Installs what is missing (Debian 12), builds the release preset and runs every test.
# The cross-check with ONNX Runtime, a package of npm, runs where node and npm are installed.
# The last lines say which tests took longest, what failed, what was skipped and why, and how many passed.
# Usage: tools/test.sh [--with-onnxruntime] [CTEST_OPTION...]
#   e.g. tools/test.sh -R unit            the tests whose names match, here those of one program
#        tools/test.sh -R unit.Histogram  the GoogleTest suites whose names match
#   A single GoogleTest case, here of the tests named unit:
#        build/release/tests/qtool_unit_tests --gtest_filter=SUITE.CASE
#   --with-onnxruntime   install node and npm too (some 400 packages) for the cross-check
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

options=()
with_onnxruntime=no
for option in "$@"; do
  case $option in
    -h | --help) script_help "$0"; exit 0 ;;
    --with-onnxruntime) with_onnxruntime=yes ;;
    *) options+=("$option") ;;
  esac
done
require_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
if [[ $with_onnxruntime == yes ]]; then require_node; fi
choose_builds
build_all
run_tests release --parallel "$(nproc)" ${options[@]+"${options[@]}"}
