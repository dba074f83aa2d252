#!/bin/sh
# Every public header is included directly by a unit or conformance test, not only through another
# header. So a header that nobody tests is found.
# Usage: headers_tested.sh ROOT; prints `header: what`; exit 1 on breaches.
set -eu
cd "$1"
included=$(mktemp)
trap 'rm -f "$included"' EXIT
find tests/unit tests/conformance -name '*.h' -o -name '*.cpp' |
  xargs sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\(qtool\/[^"]*\)".*/\1/p' >"$included"
find include/qtool -name '*.h' | sed 's|^include/||' | LC_ALL=C sort | {
  breaches=0
  while read -r header; do
    grep -qxF "$header" "$included" && continue
    printf '%s: no test in tests/unit or tests/conformance includes it\n' "$header"
    breaches=1
  done
  exit $breaches
}
