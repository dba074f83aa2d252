#!/bin/sh
# No two headers define types with the same name in the same namespace. If two source files each see
# one of the types, the linker merges functions that use them, such as functions of std::vector, and
# keeps only one version.
# Usage: types_once.sh ROOT; prints `header: what`; exit 1 on breaches.
set -eu
cd "$1"
find include src -name '*.h' | LC_ALL=C sort | xargs awk '
  FNR == 1 { space = "" }
  /^namespace [a-z_:0-9]+ \{/ { space = $2 }
  /^namespace \{/ { space = FILENAME }  # a separate one in each source file
  /^(struct|class) [A-Z][A-Za-z0-9]*( final)?( : .*)? *\{/ {
    type = space "::" $2
    if (type in first) {
      printf "%s: %s is defined in %s too\n", FILENAME, type, first[type]
      breaches = 1
    } else {
      first[type] = FILENAME
    }
  }
  END { exit breaches }' || exit 1
