#!/bin/sh
# Runs the cases of one test of CTest in one process of a GoogleTest program, and writes the outcome
# of each case, in the form of CTest's own results, for tools/ctest_cases.awk. A case without a
# result counts as failed. Exit code 77 when every case was skipped.
# Usage: run_cases.sh PROGRAM TEST CASES_FILE RESULTS_FOLDER; list_cases.sh writes CASES_FILE
set -u
program=$1 test=$2 list=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$4" || exit 1
result=$4/$(printf '%s' "$test" | tr / %).xml
log=$result.log
filter=$(awk -v test="$test" '$1 == test { printf "%s%s", separator, $2; separator = ":" }' "$list")
[ -n "$filter" ] || { echo "$list has no cases of $test"; exit 1; }

# Writes the results that the output of the program shows. They are also written before it starts,
# so that all its cases count as failed when CTest kills this script.
write_results() { # write_results LOG EXIT_CODE
  awk -v test="$test" -v code="$2" -f "$here/case_results.awk" "$list" "$1" >"$result"
}
write_results /dev/null none
{ "$program" --gtest_filter="$filter" --gtest_color=no 2>&1; echo $? >"$log.code"; } | tee "$log"
code=$(cat "$log.code")
write_results "$log" "$code"
verdict=$?
rm -f "$log" "$log.code"
exit $verdict
