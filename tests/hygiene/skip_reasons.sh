#!/bin/sh
# A test that is skipped because a file, a folder or a program is missing must give one of the
# shared reasons: absent() of support/absent.h, or a constant. The summary of a run has one line per
# reason, so a different wording would add a line.
# Usage: skip_reasons.sh ROOT; prints `file:line: what`; exit 1 on breaches.
set -eu
cd "$1"
find tests -name '*.h' -o -name '*.cpp' | grep -v '^tests/hygiene/samples/' | LC_ALL=C sort | xargs awk '
  # A statement may continue on the next lines.
  /GTEST_SKIP\(\)/ { line = FNR; statement = ""; sub(/.*GTEST_SKIP\(\)/, "") }
  line { statement = statement $0 }
  line && /;/ {
    if (statement ~ /"[^"]*(absent|missing|not installed|not found|no file|no folder|no models)[^"]*"|"no "/) {
      print FILENAME ":" line ": skips for a reason in words of its own"
      breaches = 1
    }
    line = 0
  }
  END { exit breaches }' || exit 1  # xargs has exit codes of its own
