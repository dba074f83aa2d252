#!/usr/bin/env bash
# Checks that tools/draw_result.sh draws the image of README from real runs, with every network,
# both models and no missing number. Usage: result_image_test.sh QTOOL SOURCE_FOLDER
set -uo pipefail
qtool=$1 script=$2/tools/draw_result.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
check() { eval "$2" || { echo "failed: $1 ($2)"; cat "$work/err"; failed=1; }; }
count() { grep -cE "$1" "$work/result.svg"; }

bash "$script" --qtool "$qtool" "$work/result.svg" 2>"$work/err"
check "it ends well" "(( $? == 0 ))"
check "the file is whole" "[[ \$(tail -n 1 '$work/result.svg') == '</svg>' ]]"
check "two networks, two models, three quantities" \
  "(( $(count 'width="[1-9][0-9]*" height="13" .* class="(fp32|int8)"') == 12 ))"
check "each bar has its number" "(( $(count 'class="number">[1-9][0-9.]*<') == 12 ))"
check "both models answer" "(( $(count '>(FP32|INT8): [a-z_]+, [0-9.]+ %<') == 2 ))"
check "the kept image is of the same kind" \
  "(( $(count '<(text|rect)') == \$(grep -cE '<(text|rect)' '$2/docs/result.svg') ))"

bash "$script" --nonsense >"$work/out" 2>"$work/err"
check "an unknown option is refused" "(( $? == 1 ))"
exit "$failed"
