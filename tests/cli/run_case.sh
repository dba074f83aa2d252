#!/bin/sh
# Runs one case of the command line tests in an empty folder and compares its results. The paths
# of the program, the sources and the folder contain spaces, so a case that leaves out quotes fails.
# Usage: run_case.sh QTOOL SOURCE_FOLDER CASE_FOLDER [PROGRAMS]
# A case finds only the programs of the folder PROGRAMS and those that its file `needs` lists;
# without that folder it finds all programs. So a case that calls any other program fails on every
# machine.
# A case folder holds
#   cmd     shell commands; $QTOOL is the program, $DATA the embedded example, $SOURCE the sources;
#           $SOURCE/tests/cli/signals.sh helps those that send a signal
#   needs   what the case needs, one per line; it is skipped where something is missing:
#             program NAME      a program; necessary unless it is one of PROGRAMS
#             shared PATH       a file or folder of ../shared
#             can COMMAND       a shell command that must succeed
#   exit    the expected exit code, 0 when there is no such file
#   stdout  extended regular expressions, one per line. Each must match a line of the output, in
#   stderr  this order; other lines may come between them. After a `!` in front, no line may match.
#           If the file is empty, the output must be empty. Without the file, any output is
#           accepted.
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
programs=$(realpath -m "${4:-/none}")
QTOOL_EVERY_PROGRAM=$PATH
export QTOOL_EVERY_PROGRAM
mkdir "$work/needed"
if [ -e "$programs/sh" ]; then
  PATH=$work/needed:$programs
  export PATH
fi
skip() { echo "skipped: $1"; exit 77; }
if [ -f "$case_folder/needs" ]; then
  while read -r kind what; do
    case $kind in
      program)
        found=$(PATH=$QTOOL_EVERY_PROGRAM; command -v "$what") || skip "$what is not installed"
        [ ! -e "$programs/$what" ] || continue
        # This is a script and not a link, because the needed program may call programs that the
        # case does not list.
        printf '#!/bin/sh\nPATH=$QTOOL_EVERY_PROGRAM exec "%s" "$@"\n' "$found" >"$work/needed/$what"
        chmod +x "$work/needed/$what"
        ;;
      shared)
        [ -e "$SOURCE/../shared" ] || skip "../shared is absent"
        [ -e "$SOURCE/../shared/$what" ] || skip "../shared has no $what"
        ;;
      can)
        sh -c "$what" </dev/null >/dev/null 2>&1 || skip "this machine cannot do: $what"
        ;;
      *) echo "needs: expected program, shared or can, not '$kind'"; exit 1 ;;
    esac
  done <"$case_folder/needs"
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
