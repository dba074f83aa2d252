#!/bin/sh
# Checks that the optimised builds are hardened: the program is position independent, its tables of
# addresses are read-only before main() starts, and its stack is not executable. The library and the
# program have stack canaries and checked copies, and neither contains the path of the folder it was
# built from.
# Usage: hardened.sh READELF STRINGS ROOT PROGRAM [LIBRARY]; prints `file: what`; exit 1 on breaches.
set -eu
readelf=$1
strings=$2
root=$(cd "$3" && pwd -P)
shift 3
breaches=0
breach() { printf '%s: %s\n' "$(basename "$1")" "$2"; breaches=1; }
has() { grep -Eq -- "$1" "$seen"; }
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT

"$readelf" -hldW "$1" >"$seen"
has '^  Type: +DYN' || breach "$1" 'is not position independent'
has '^  GNU_RELRO' || breach "$1" 'leaves its tables of addresses open'
has 'FLAGS.* (BIND_)?NOW' || breach "$1" 'binds functions while it runs'
has '^  GNU_STACK .* RWE ' && breach "$1" 'runs code on the stack'
for file in "$@"; do
  "$readelf" -sW "$file" >"$seen"
  has ' __stack_chk_fail' || breach "$file" 'has no canaries'
  has ' __[a-z]+_chk(@|$)' || breach "$file" 'has no checked copies'
  "$strings" -a "$file" >"$seen"
  ! grep -Fq -- "$root/" "$seen" ||
    breach "$file" "names the folder it was built from: $(
      awk -v root="$root/" 'i = index($0, root) { print substr($0, i + length(root)); exit }' "$seen")"
done
exit $breaches
