#!/usr/bin/env bash
# Checks that a case in run_case.sh finds only the programs of a bare Debian with the packages of
# tools/test.sh, and the programs that the case needs according to its file `needs`. Where a needed
# program is missing, the case is skipped, with one reason per cause.
# Usage: needs_test.sh SOURCE_FOLDER PROGRAMS
set -uo pipefail
source_folder=$1 programs=$2
[[ -e $programs/sh ]] || { echo "skipped: it is not known which programs tools/test.sh installs"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() { # expect NAME CODE OUTPUT: the exit code and output that the last run must have had
  [[ $code -eq $2 && $(cat "$work/output") =~ $3 ]] && return
  echo "failed: $1 (exit code $code):"
  cat "$work/output"
  failures=1
}
run() { # run PATH_OF_THE_MACHINE CASE_FOLDER
  PATH=$1 sh "$source_folder/tests/cli/run_case.sh" "$programs/true" "$source_folder" "$2" "$programs" \
    >"$work/output" 2>&1
  code=$?
}

# Simulates a machine that has one more program, in a separate folder.
mkdir "$work/more" "$work/case"
printf '#!/bin/sh\necho strange\n' >"$work/more/stranger"
chmod +x "$work/more/stranger"
echo stranger >"$work/case/cmd"
echo strange >"$work/case/stdout"
run "$work/more:$PATH" "$work/case"
expect "a program that the case does not say it needs is not found" 1 'stranger: not found'
echo 'program stranger' >"$work/case/needs"
run "$work/more:$PATH" "$work/case"
expect "one that it needs is found" 0 ''
run "$programs" "$work/case"
expect "where it is missing the case is skipped" 77 '^skipped: stranger is not installed$'
echo 'can no_such_command' >"$work/case/needs"
run "$PATH" "$work/case"
expect "what the machine cannot do is said" 77 '^skipped: this machine cannot do: no_such_command$'
echo 'shared no/such/file' >"$work/case/needs"
run "$PATH" "$work/case"
expect "a file of ../shared is needed" 77 '^skipped: ../shared (is absent|has no no/such/file)$'
echo 'stranger' >"$work/case/needs"
run "$PATH" "$work/case"
expect "another need is a mistake" 1 "^needs: expected program, shared or can, not 'stranger'$"

# On a machine with only the programs that tools/test.sh installs, every case that needs another
# program is skipped.
skipped=0
for needs in "$source_folder"/tests/cli/cases/*/needs; do
  while read -r kind what; do
    [[ $kind == program && ! -e $programs/$what ]] || continue
    run "$programs" "${needs%/needs}"
    expect "$needs" 77 "^skipped: $what is not installed$"
    skipped=$((skipped + 1))
    break
  done <"$needs"
done
((skipped > 0)) || { echo "failed: no case needs a program, so nothing was tried"; failures=1; }
exit $failures
