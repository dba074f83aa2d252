#!/bin/sh
# Every relative link in a Markdown file leads to a file, and every script or source path that it
# names in `code` exists. Usage: links.sh ROOT; prints `file: target`; exit 1 on breaches.
set -eu
cd "$1"
find . -name '*.md' ! -path './build*' ! -path '*/node_modules/*' ! -path './tests/hygiene/samples/*' |
  sed 's|^\./||' | LC_ALL=C sort | {
  breaches=0
  while read -r file; do
    folder=$(dirname "$file")
    for target in $(grep -o '](\([^)# ]*\)' "$file" | sed 's/^](//' | grep -v '^[a-z]*:' || true); do
      [ -e "$folder/$target" ] || { printf '%s: link to %s\n' "$file" "$target"; breaches=1; }
    done
    for target in $(grep -oE '`(tools|tests|src|include|docs|data|cmake)/[A-Za-z0-9_./-]+`' "$file" |
      tr -d '`' || true); do
      case $target in *foo*) continue ;; esac  # stands for a file still to be written
      [ -e "$target" ] || { printf '%s: names %s\n' "$file" "$target"; breaches=1; }
    done
  done
  exit $breaches
}
