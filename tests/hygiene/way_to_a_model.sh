#!/bin/sh
# The library decides the way to a model, and the program only parses and prints it. So the program
# names efforts, roundings and learning steps only in the files that the list below allows.
# Usage: way_to_a_model.sh ROOT; prints `file:line: what`; exit 1 on breaches.
set -eu
cd "$1"
allowed='^tools/qtool/(options/accuracy|step_display)[.](h|cpp)$'

# Prints the arguments of all rows of a list: `a b c`.
rows() { sed -n "s/^$1(\\(.*\\)/\\1/p" "$2" | tr -d ',)'; }

words=$(
  rows QTOOL_EFFORT src/pipeline/efforts.inc | while read -r name kind _; do
    printf '"%s"|Effort::%s|' "$name" "$kind"
  done
  rows QTOOL_ROUNDING src/quantize/rounding/roundings.inc | while read -r name _; do
    printf '"%s"|' "$name"
  done
  rows QTOOL_STEP src/pipeline/steps.inc | while read -r name _ gives _; do
    [ "$gives" != kLearned ] || printf '"%s"|[^_]%s[(]|' "$name" "$name"
  done
)
found=$(
  find tools/qtool -name '*.h' -o -name '*.cpp' | LC_ALL=C sort | grep -Ev "$allowed" |
    xargs grep -nE "${words%|}" /dev/null | sed 's/^\([^:]*:[0-9]*\):[ ]*/\1: decides the way: /'
) || true
[ -n "$found" ] || exit 0
echo "$found"
exit 1
