#!/bin/sh
# A folder of more than 45 files of code is more than one room. Inputs of tests do not count.
# Usage: folder_size.sh ROOT [LIMIT]; prints `folder: what`; exit 1 on breaches.
set -eu
cd "$1"
limit=${2:-45}
found=$(
  for folder in include src tools tests cmake; do
    [ ! -d "$folder" ] || find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.inc' \
      -o -name '*.sh' -o -name '*.cmake' -o -name 'CMakeLists.txt' -o -name '*.js' -o -name '*.mjs' \
      -o -name '*.py' \) ! -path '*/node_modules/*' ! -path 'tests/hygiene/samples/*'
  done | sed 's,/[^/]*$,,' | LC_ALL=C sort | uniq -c | while read -r files folder; do
    [ "$files" -le "$limit" ] || echo "$folder: $files files, at most $limit"
  done
)
[ -n "$found" ] || exit 0
echo "$found"
exit 1
