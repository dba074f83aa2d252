#!/bin/sh
# Asks a GoogleTest program for its test cases and divides them into tests of CTest, each of which
# runs as one process. Writes FILE.cases, lines "TEST CASE", and FILE.cmake, a CTest script that
# adds the tests.
# Usage: list_cases.sh PROGRAM PREFIX GROUPS SINGLY FILE
#   GROUPS   the number of tests, PREFIX.group_N, among which whole suites are divided, so that each
#            has about the same number of cases. 0: one test for each suite, PREFIX.SUITE.
#   SINGLY   an extended regular expression: in suites whose whole name it matches, each case is a
#            separate test, PREFIX.SUITE.CASE. If it is empty there are no such suites.
# A program without a case is an error.
set -eu
program=$1 prefix=$2 groups=$3 singly=$4 file=$5
here=$(cd "$(dirname "$0")" && pwd)
listing=$("$program" --gtest_list_tests)
# The listing has lines "Suite." and below each its cases, indented; remarks start with "#".
# Instances of a typed suite have names that end in a number; they stay in one test.
printf '%s\n' "$listing" | awk -v prefix="$prefix" -v groups="$groups" -v singly="$singly" '
  /^[^ ]+\.( |$)/ { suite = $1; sub(/\.$/, "", suite); next }
  /^  [^ ]/ && suite != "" {
    name = suite
    sub(/\/[0-9]+$/, "", name)
    if (!(name in cases)) order[++suites] = name
    cases[name] = cases[name] " " suite "." $1
    ++count[name]
  }
  END {
    for (i = 1; i <= suites; ++i) {
      name = order[i]
      test = prefix "." name
      alone = singly != "" && name ~ ("^(" singly ")$")
      if (groups > 0 && !alone) {
        least = 0
        for (group = 1; group < groups; ++group) if (filled[group] < filled[least]) least = group
        filled[least] += count[name]
        test = prefix ".group_" least
      }
      total = split(cases[name], list, " ")
      for (k = 1; k <= total; ++k) print (alone ? prefix "." list[k] : test), list[k]
    }
  }' >"$file.cases.new"
[ -s "$file.cases.new" ] || { echo "$program has no test cases" >&2; exit 1; }
mv "$file.cases.new" "$file.cases"

awk -v run="$here/run_cases.sh" -v program="$program" -v cases="$file.cases" '
  BEGIN { print "# Made by list_cases.sh." }
  !seen[$1]++ {
    printf "add_test([=[%s]=] sh [=[%s]=] [=[%s]=] [=[%s]=] [=[%s]=] \"${results}\")\n",
           $1, run, program, $1, cases
    printf "set_tests_properties([=[%s]=] PROPERTIES SKIP_RETURN_CODE 77 ${properties})\n", $1
  }' "$file.cases" >"$file.cmake"
