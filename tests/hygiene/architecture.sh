#!/bin/sh
# Every file or folder that docs/architecture.md names exists, and no cell of its tables is longer than 200 characters.
# A name in `code` counts as one of a file or folder when it has an underscore or an ending; `<family>`, `*` and `foo`
# stand for any name. Usage: architecture.sh ROOT; prints what is wrong; exit 1 on breaches.
set -eu
cd "$1"
page=docs/architecture.md
names=$(mktemp)
trap 'rm -f "$names"' EXIT
# The names of all files and folders, without folder and ending.
find include src tools tests docs cmake .ci ! -path '*/node_modules/*' ! -path 'tests/hygiene/samples/*' |
  sed 's,.*/,,; s/[.][a-z]*$//' | LC_ALL=C sort -u >"$names"
breaches=0
# shellcheck disable=SC2016  # nothing is to be expanded
for name in $(grep -o '`[a-z][A-Za-z0-9_./]*`' "$page" | tr -d '`' | LC_ALL=C sort -u); do
  base=${name##*/}
  case $base in foo* | '') continue ;; *_* | *.*) ;; *) continue ;; esac
  grep -qx -- "${base%.*}" "$names" || { echo "$page: no file $name"; breaches=1; }
done
awk -F '|' -v page="$page" '
  /^\|/ { for (i = 2; i < NF; ++i) if (length($i) > 202) { print page ":" FNR ": a cell of " length($i) - 2 " characters"; bad = 1 } }
  END { exit bad }' "$page" || breaches=1
exit $breaches
