#!/bin/bash
# Checks that every case of a GoogleTest program is reported, no matter how the process that ran it
# ends.
# Usage: runner_test.sh SAMPLE_PROGRAM SOURCE_FOLDER CTEST
set -u
program=$1 source=$2 ctest=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/qtool runner.XXXXXX")
trap 'rm -rf "$work"' EXIT
ulimit -c 0 # no core files
failures=0
expect_same() { # expect_same NAME EXPECTED: compares with the standard input
  diff <(printf '%s\n' "$2") - || { echo "failed: $1 (< expected, > found)"; failures=1; }
}
list() { sh "$source/tests/runner/list_cases.sh" "$program" sample "$1" "$2" "$work/list"; }

counts() { awk '{ ++n[$1] } END { for (test in n) print test, n[test] }' "$work/list.cases" | sort; }

list 0 '' || failures=1
expect_same 'a test for each suite' 'sample.Absent 1
sample.Crashing 3
sample.Few/Numbers 3
sample.Hanging 2
sample.Leaving 1
sample.Sound 3' < <(counts)
list 2 'S.*|Leaving' || failures=1
expect_same 'two groups, and some cases alone' 'sample.Leaving.FailsAfterItsCases 1
sample.Sound.EndsItsOutputWithoutALineBreak 1
sample.Sound.IsSkipped 1
sample.Sound.Passes 1
sample.group_0 6
sample.group_1 3' < <(counts)
GTEST_FILTER=none list 0 '' 2>/dev/null &&
  { echo "failed: a program without cases is an error"; failures=1; }

# summary: runs all tests of the list and prints the summary.
summary() {
  {
    echo "set(results [=[$work/results]=])"
    echo "set(properties LABELS some)"
    echo "include([=[$work/list.cmake]=])"
    echo 'set_tests_properties(sample.Hanging PROPERTIES TIMEOUT 10)'
    echo 'add_test(script sh -c "exit 1")'
  } >"$work/CTestTestfile.cmake"
  "$ctest" --test-dir "$work" --output-junit "$work/junit.xml" >"$work/log" 2>&1
  awk -v folder="$work/results" -f "$source/tools/ctest_cases.awk" "$work/junit.xml" >"$work/cases.xml"
  awk -f "$source/tools/ctest_summary.awk" "$work/cases.xml" | sed 's/exit code 1[0-9]*/exit code N/'
}
list 0 '' || failures=1
expect_same 'every case is counted' '6 passed, 7 failed, 2 skipped
failed: sample.Crashing.EndsTheProgram (the program ended while it ran, exit code N)
failed: sample.Crashing.IsNotReached (not run: the program ended in Crashing.EndsTheProgram)
failed: sample.Few/Numbers.AreSmall/2
failed: sample.Hanging.NeverEnds (it did not end)
failed: sample.Hanging.Passes (it did not end)
failed: sample.Leaving, the program (exit code 3, though no case failed)
failed: script
skipped: no <moon> & no "sun": sample.Sound.IsSkipped
skipped: no data: sample.Absent.IsSkipped' < <(summary | sort)

slowest() { bash -c ". '$source/tools/setup.sh'; slowest_tests '$work/times.xml'"; }
for seconds in 1 2 3 4 5 6 7 8 9 10 20 21; do
  echo "<testcase name=\"test.$seconds\" classname=\"x\" time=\"$seconds.001\" status=\"run\">"
done >"$work/times.xml"
expect_same 'the ten slowest tests are printed' 'the slowest tests, in seconds:
  21.00 test.21
  20.00 test.20
  10.00 test.10
  9.00 test.9
  8.00 test.8
  7.00 test.7
  6.00 test.6
  5.00 test.5
  4.00 test.4
  3.00 test.3
1 took more than 20 s' < <(slowest)
sed -i '/test.21/d' "$work/times.xml"
expect_same 'and whether one took too long' 'none took more than 20 s' < <(slowest | tail -n 1)
exit $failures
