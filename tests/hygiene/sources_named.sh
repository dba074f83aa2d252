#!/bin/sh
# A header that declares functions has a source file of the same name: `foo.h` has `foo.cpp`, or
# `foo_*.cpp` if several files share the work, or a folder `foo`. The source file of a public header
# is in the room (the folder) of the same name under src. Exceptions have a reason in
# sources_elsewhere.txt, as `path: reason`. An entry whose header needs no reason is a breach too.
# Usage: sources_named.sh ROOT; prints `header: what`; exit 1 on breaches.
set -eu
cd "$1"
list=tests/hygiene/sources_elsewhere.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Prints the headers that declare a function without a body, outside of all bodies.
declaring() {
  xargs awk '
  # Whether a brace after `text` opens declarations (a namespace or a class).
  function opens(text) {
    while (gsub(/<[^<>]*>/, "", text)) {}  # arguments of templates
    return text ~ /(^|[ >])(namespace|class|struct|union)([ ]|$)/ && text !~ /[()=]/
  }
  function statement(text) {
    sub(/^[ \t]*((public|private|protected):[ \t]*)+/, "", text)
    if (text ~ /^[ \t]*(using|typedef|static_assert|friend)([ (]|$)/) return
    if (text !~ /[)][ ]*((const|noexcept|override|final|&&?)[ ]*)*([-]>.*)?$/) return
    if (text ~ /[(][*]/) return                                 # a pointer to a function
    head = text; sub(/[(].*/, "", head)
    if (head ~ /=/ && head !~ /operator/) return                # a value
    declares = 1
  }
  function finish() { if (file != "" && declares) print file }
  FNR == 1 { finish(); file = FILENAME; declares = 0; depth = 0; text = ""; bodies = 0; macro = 0 }
  { line = $0; gsub(/"([^"\\]|\\.)*"/, "", line); sub(/\/\/.*/, "", line) }
  macro || line ~ /^[ \t]*#/ { macro = line ~ /\\$/; next }
  {
    count = length(line)
    for (i = 1; i <= count; ++i) {
      c = substr(line, i, 1)
      if (c == "{") {
        open[++depth] = bodies == 0 && opens(text)
        if (!open[depth]) ++bodies
        if (bodies <= 1) text = ""
      } else if (c == "}") {
        if (depth > 0 && !open[depth--]) --bodies
        text = ""
      } else if (bodies == 0) {
        if (c == ";") { statement(text); text = "" } else text = text c
      }
    }
    if (bodies == 0) text = text " "
  }
  END { finish() }'
}

breaches=0
breach() { printf '%s\n' "$1"; breaches=1; }

find include/qtool src -name '*.h' | LC_ALL=C sort | declaring | while read -r header; do
  source=${header%.h}
  case $source in include/qtool/*) source=src/${source#include/qtool/} ;; esac
  folder=${source%/*}
  [ "${folder##*/}" != "${source##*/}" ] || continue
  for file in "$source.cpp" "$source"_*.cpp "$source"/*.cpp; do
    [ ! -e "$file" ] || continue 2
  done
  printf '%s %s\n' "$header" "$source"
done >"$found"
while read -r header source; do
  grep -q "^$header: ." $list ||
    breach "$header: neither $source.cpp nor ${source}_*.cpp exists, without a reason in $list"
done <"$found"
while IFS=: read -r header _; do
  case $header in '' | '#'*) continue ;; esac
  grep -q "^$header " "$found" || breach "$list: $header needs no reason"
done <$list
exit $breaches
