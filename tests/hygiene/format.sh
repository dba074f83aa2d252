#!/bin/sh
# Every C++ file is formatted as by clang-format 14. Other versions format some lines differently.
# Usage: format.sh CLANG_FORMAT ROOT; prints `file: what`; exit 1 on breaches, 77 without version 14.
set -eu
"$1" --version 2>/dev/null | grep -q 'version 14\.' || {
  echo "skipped: clang-format 14 is not installed"
  exit 77
}
cd "$2"
found=$(find . \( -name '*.h' -o -name '*.cpp' \) ! -path './build/*' ! -path '*/node_modules/*' \
  ! -path './tests/hygiene/samples/*' -exec "$1" --dry-run -Werror {} + 2>&1 |
  sed -n 's|^\./\([^:]*\):[0-9:]* error: .*|\1|p' | LC_ALL=C sort -u)
[ -z "$found" ] && exit 0
printf '%s\n' "$found" | sed 's|$|: is not formatted|'
exit 1
