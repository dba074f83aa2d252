#!/bin/sh
# Runs one case of the command line tests in an empty folder and compares what came out. Program,
# sources and the folder are reached by paths with spaces, so a case that leaves out quotes fails.
# Usage: run_case.sh QTOOL SOURCE_FOLDER CASE_FOLDER
# A case folder holds
#   cmd     shell commands; $QTOOL is the program, $DATA the embedded example, $SOURCE the sources
#   needs   a shell command that fails where the case cannot be run; it is skipped there
#   exit    the expected exit code, 0 when there is no such file
#   stdout  extended regular expressions, one per line: each must match a line of the output, in this
#   stderr  order; lines between them are free. `!` in front: no line may match. An empty file: the
#           output must be empty. No file: anything goes.
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/qtool case.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/given to it" "$work/run in it"
ln -s "$(realpath "$1")" "$work/given to it/qtool"
ln -s "$(realpath "$2")" "$work/given to it/sources"
QTOOL="$work/given to it/qtool"
SOURCE="$work/given to it/sources"
DATA=$SOURCE/data
case_folder=$(realpath "$3")
export QTOOL SOURCE DATA
if [ -f "$case_folder/needs" ] && ! sh "$case_folder/needs" </dev/null >/dev/null 2>&1; then
  echo "skipped: this machine cannot do: $(cat "$case_folder/needs")"
  exit 77
fi
cd "$work" || exit 1

expected_code=0
[ ! -f "$case_folder/exit" ] || expected_code=$(cat "$case_folder/exit")
(cd "run in it" && sh "$case_folder/cmd") >stdout 2>stderr </dev/null
code=$?

failed=0
[ "$code" -eq "$expected_code" ] || { echo "exit code $code, expected $expected_code"; failed=1; }
for stream in stdout stderr; do
  patterns=$case_folder/$stream
  [ -f "$patterns" ] || continue
  if [ ! -s "$patterns" ]; then
    [ ! -s $stream ] || { echo "$stream: expected to be empty"; failed=1; }
    continue
  fi
  awk -v stream=$stream '
    FNR == NR && /^!/ { never[++nevers] = substr($0, 2); next }
    FNR == NR { wanted[++wants] = $0; next }
    { for (i = 1; i <= nevers; ++i) if ($0 ~ never[i]) { print stream ": must not have: " $0; bad = 1 } }
    met < wants && $0 ~ wanted[met + 1] { ++met }
    END {
      if (met < wants) { print stream ": no line matches (in order): " wanted[met + 1]; bad = 1 }
      exit bad
    }' "$patterns" $stream || failed=1
done
[ $failed -eq 0 ] && exit 0
for stream in stdout stderr; do
  echo "--- $stream"
  head -c 4000 $stream
done
exit 1
