#!/bin/sh
# Every public header compiles on its own, without warnings and without the third parties' paths.
# Usage: headers_alone.sh CXX INCLUDE_FOLDER; prints the headers that do not; exit 1 on breaches.
set -eu
compiler=$1
cd "$2"
export compiler
find qtool -name '*.h' | LC_ALL=C sort | xargs -P "$(nproc)" -I '{}' sh -c '
  printf "#include \"%s\"\n" "$1" |
    $compiler -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only \
      -I. -x c++ - 2>/dev/null || { printf "%s: does not compile alone\n" "$1"; exit 1; }
' alone '{}' || exit 1
