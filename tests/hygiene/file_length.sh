#!/bin/sh
# A file of the library or the program with more than 400 lines, or any other file with more than
# 500, needs a reason in long_files.txt, as `path: reason`. An entry whose file is gone or no longer
# long is a breach too.
# Usage: file_length.sh ROOT [LIMIT OTHERS]; prints `file: what`; exit 1 on breaches.
set -eu
cd "$1"
code=${2:-400}
others=${3:-500}
list=tests/hygiene/long_files.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT
breaches=0
breach() { printf '%s\n' "$1"; breaches=1; }

for folder in include src tools tests cmake docs; do
  [ ! -d "$folder" ] || find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.inc' \
    -o -name '*.sh' -o -name '*.cmake' -o -name 'CMakeLists.txt' -o -name '*.md' -o -name '*.js' \
    -o -name '*.mjs' -o -name '*.py' \) ! -path '*/node_modules/*' \
    ! -path 'tests/hygiene/samples/*'
done | LC_ALL=C sort | while read -r file; do
  lines=$(wc -l <"$file")
  case $file in include/* | src/* | tools/*) limit=$code ;; *) limit=$others ;; esac
  [ "$lines" -le "$limit" ] || printf '%s %s %s\n' "$lines" "$limit" "$file"
done >"$found"
while read -r lines limit file; do
  grep -q "^$file: ." $list || breach "$file: $lines lines, at most $limit without a reason in $list"
done <"$found"
while IFS=: read -r file _; do
  case $file in '' | '#'*) continue ;; esac
  grep -q " $file\$" "$found" || breach "$list: $file is not a long file"
done <$list
exit $breaches
