#!/bin/sh
# An object built for one instruction set may define only its kernels' entry points. Any other
# global symbol, above all a weak one from a header, could be picked by the linker for the whole
# program and would then fail on an older CPU.
# Usage: isa_symbols.sh NM ROOT OBJECT...; prints `object: symbol (type)`; exit 1 on breaches.
set -eu
nm=$1
root=$2
shift 2
[ $# -gt 0 ] || { echo "no objects to check"; exit 1; }

# Rows `QTOOL_KERNEL(name)` of <family>.inc declare qtool::<family>_<name>.
allowed=$(for list in "$root"/src/kernels/*/*.inc; do
  family=$(basename "$list" .inc)
  sed -n "s/^QTOOL_KERNEL(\([a-z0-9_]*\)).*/qtool::${family}_\1/p" "$list"
done)

breaches=0
for object in "$@"; do
  "$nm" -C --defined-only "$object" >/dev/null || { echo "$object: cannot be read"; exit 1; }
  "$nm" -C --defined-only "$object" | ALLOWED=$allowed awk -v object="$(basename "$(dirname "$object")")/$(basename "$object")" '
    BEGIN { n = split(ENVIRON["ALLOWED"], names, "\n"); for (i = 1; i <= n; ++i) ok[names[i]] = 1 }
    { type = $2; name = $0; sub(/^[0-9a-f]+ . /, "", name) }
    type ~ /[a-z]/ && type !~ /[uvw]/ { next }  # local to the object
    type ~ /[RDBT]/ && name in ok { next }
    { print object ": " name " (" type ")"; breaches = 1 }
    END { exit breaches }' || breaches=1
done
exit $breaches
