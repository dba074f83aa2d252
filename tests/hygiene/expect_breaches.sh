#!/bin/sh
# Proves that a check can fail: runs it on a bad sample and requires exit 1 and exactly the listed
# breaches. Usage: expect_breaches.sh EXPECTED_FILE CHECK [ARGUMENT...]
set -u
expected=$1
shift
found=$(sh "$@")
code=$?
[ $code -eq 1 ] || { echo "exit code $code, expected 1; output: $found"; exit 1; }
printf '%s\n' "$found" | LC_ALL=C sort | diff "$expected" - && exit 0
echo "the check reported other breaches (>) than the sample has (<)"
exit 1
