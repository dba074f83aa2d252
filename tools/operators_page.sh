#!/bin/sh
# Writes docs/operators.md from the operator table and a run of ONNX's backend suite.
# Usage: tools/operators_page.sh [BUILD_FOLDER]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target qtool_nodes_tests
QTOOL_WRITE_PAGES=1 "$build/tests/qtool_nodes_tests" --gtest_brief=1 \
  --gtest_filter='OperatorsPage.IsWhatTheTestsSay'
