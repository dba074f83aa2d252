#!/bin/sh
# A property of operators is a trait in src/graph/operators.inc, not a comparison with their names.
# So each file that compares names is on a list, with the number of its comparisons and the reason.
# Rules that rewrite one operator into others (src/graph/upgrade) are free. Names in the rows of a
# table, such as a table of functions by operator, are not counted.
# Usage: operator_names.sh ROOT LIST; prints `file: what`; exit 1 on breaches.
set -eu
list=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$1"
found=$(
  find src -name '*.cpp' -o -name '*.h' | grep -v '^src/graph/upgrade/' | LC_ALL=C sort |
    xargs awk -v list="$list" '
    BEGIN {
      while ((getline line < list) > 0) {
        if (line ~ /^#|^$/) continue
        words = split(line, word, " ")
        allowed[word[1]] = word[2]
        if (words < 4) print word[1] ": the list gives no reason"
      }
    }
    {
      rest = $0
      while (match(rest, /[.>]is\("[A-Za-z0-9]+"|op_type [=!]= "/)) {
        ++count[FILENAME]
        rest = substr(rest, RSTART + RLENGTH)
      }
    }
    END {
      for (file in count)
        if (count[file] != allowed[file] + 0)
          print file ": " count[file] " comparisons with names of operators, the list says " allowed[file] + 0
      for (file in allowed)
        if (!(file in count)) print file ": no comparison with names of operators, the list says " allowed[file]
    }'
)
[ -n "$found" ] || exit 0
echo "$found"
exit 1
