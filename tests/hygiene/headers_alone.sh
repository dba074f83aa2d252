#!/bin/sh
# Every public header compiles on its own, without warnings and without the include paths of third
# parties.
# Usage: headers_alone.sh CXX INCLUDE_FOLDER [PART PARTS]; prints the headers that do not; exit 1 on
# breaches. The headers are divided among the parts in turn, and parts count from 0. CTest runs the
# parts side by side.
set -eu
compiler=$1 part=${3-0} parts=${4-1}
cd "$2"
headers=$(find qtool -name '*.h' | LC_ALL=C sort |
  awk -v part="$part" -v parts="$parts" 'NR % parts == part')
[ -n "$headers" ] || { echo "no headers found"; exit 1; }
failed=0
for header in $headers; do
  printf '#include "%s"\n' "$header" |
    "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only \
      -I. -x c++ - 2>/dev/null || { echo "$header: does not compile alone"; failed=1; }
done
exit $failed
