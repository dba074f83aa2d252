#!/usr/bin/env bash
# Builds a preset from nothing, without a compiler cache, and prints the processor time of each room, of
# linking, and of all. With --again it then changes one file of each room of the program, one room
# after the other, and prints how long it takes to build the program again.
# Usage: tools/build_time.sh [--again] [PRESET [TARGET...]]    e.g. tools/build_time.sh --again release qtool
#   default: every target of preset release
# The build lies in build/time and stays there. Nothing else should run meanwhile.
set -euo pipefail

# As the launcher of the compiler and linker: runs the command, then logs its CPU seconds and the
# file that it made.
if [[ ${1-} == --launch ]]; then
  log=$2
  shift 2
  status=0
  "$@" || status=$?
  made=linked
  for ((i = 1; i < $#; ++i)); do
    [[ ${!i} != -o ]] || { next=$((i + 1)) && made=${!next}; }
  done
  times >"$log.$$"  # the second line is for the command; in a pipe it would be zero
  { read -r _ && read -r user system; } <"$log.$$"
  rm -f "$log.$$"
  printf '%s %s %s\n' "$user" "$system" "$made" >>"$log"
  exit "$status"
fi

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
again=no
case ${1-} in
  -h | --help) script_help "$0"; exit 0 ;;
  --again)
    again=yes
    shift
    ;;
esac
preset=${1:-release}
shift || true
require_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
choose_builds
folder=$BUILDS/time/$preset
log=$BUILDS/time/$preset.seconds
rm -rf "$folder" "$log"
mkdir -p "$BUILDS/time"
launcher="$BASH;$ROOT/tools/build_time.sh;--launch;$log"
logged "$BUILDS/time/$preset.log" cmake -S "$ROOT" --preset "$preset" -B "$folder" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_LINKER_LAUNCHER="$launcher"
export CCACHE_DISABLE=1
began=$SECONDS
logged "$BUILDS/time/$preset.log" cmake --build "$folder" ${1:+--target "$@"}
wall=$((SECONDS - began))

printf '%-28s %6s %10s\n' room files "CPU seconds"
awk '
  function seconds(text,   parts) { split(text, parts, /[ms]/); return 60 * parts[1] + parts[2] }
  # The room of src/CMakeFiles/qtool_core.dir/ops/op_pool.cpp.o, or of .../Unity/unity_ops_3_cxx.cxx.o
  function room_of(made,   parts, n) {
    if (made !~ /\.(o|gch|pch)$/) return "linking"
    if (made ~ /cmake_pch/) return "precompiled headers"
    n = split(made, parts, "/")
    if (made ~ /\/Unity\//) {
      sub(/^unity_/, "", parts[n])
      sub(/_[0-9]+_cxx\.cxx\.o$/, "", parts[n])
      return parts[1] "/" parts[n]
    }
    if (made ~ /^src\//) return parts[1] "/" parts[4]
    if (made ~ /^tests\/CMakeFiles/) return parts[1] "/" parts[4]
    return parts[1] "/" parts[2]
  }
  { used = seconds($1) + seconds($2); total += used; room = room_of($3); sum[room] += used; ++files[room] }
  END {
    by_seconds = "sort -nr | cut -f 2"
    for (room in sum) printf "%.1f\t%-28s %6d %10.1f\n", sum[room], room, files[room], sum[room] | by_seconds
    close(by_seconds)
    printf "%-28s %6s %10.1f\n", "all", "", total
  }' "$log"
echo "$wall s of wall time on $(nproc) cores"
program=$folder/tools/qtool/qtool
[[ ! -e $program ]] || echo "the program has $(stat -c %s "$program") bytes"

[[ $again == yes ]] || exit 0
printf '\n%-28s %s\n' "changed" "seconds until the program is there"
cmake --build "$folder" --target qtool >>"$BUILDS/time/$preset.log"
for room in "$ROOT"/src/*/ "$ROOT"/tools/qtool/; do
  file=$(find "$room" -name '*.cpp' -printf '%s %p\n' | sort -nr | head -n 1 | cut -d ' ' -f 2-)
  [[ -n $file ]] || continue
  touch "$file"
  before=$EPOCHREALTIME
  cmake --build "$folder" --target qtool >>"$BUILDS/time/$preset.log"
  LC_ALL=C awk -v name="${file#"$ROOT"/}" -v from="$before" -v to="$EPOCHREALTIME" \
    'BEGIN { printf "%-44s %6.1f\n", name, to - from }'
done
