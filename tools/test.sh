#!/usr/bin/env bash
# Installs what is missing (Debian 12), builds the release preset and runs every test.
# Usage: tools/test.sh [ctest options]     e.g. tools/test.sh -R unit
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
require_node
build_release
cd "$ROOT"
# No --schedule-random or extra output afterwards: ctest's closing lines are the last ones.
exec ctest --preset release --parallel "$(nproc)" "$@"
