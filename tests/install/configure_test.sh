#!/usr/bin/env bash
# Checks that tools/demo.sh and every preset can be configured with only the packages that
# tools/demo.sh installs, and that tools/test.sh has every test even if tools/demo.sh ran before it
# in the same folder. Nothing is compiled.
# Usage: configure_test.sh SOURCE_FOLDER FILES FILES: the files that tools/demo.sh installs
set -uo pipefail
source_folder=$1 files=$2
[[ -e $files/usr/bin/cmake ]] || { echo "skipped: it is not known what tools/demo.sh installs"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CC CXX CMAKE_CXX_COMPILER_LAUNCHER
failures=0
expect() { # expect NAME COMMAND...
  local name=$1
  shift
  "$@" && return
  echo "failed: $name"
  tail -n 30 "$work/output"
  failures=1
}

# Stand-ins: every package is installed; CMake configures but does not build, and finds only the
# files below $FILES if that is set; CTest lists its tests.
mkdir "$work/bin"
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
stand_in dpkg-query 'printf installed'
stand_in cmake "hide=()
if [[ -n \${FILES-} ]]; then
  hide=(-DCMAKE_SYSROOT=\$FILES -DCMAKE_FIND_ROOT_PATH_MODE_{PACKAGE,LIBRARY,INCLUDE,PROGRAM}=ONLY)
  PATH=\$FILES/usr/bin:\$PATH
fi
case \$* in *--preset*) ;; *--build*) exit 0 ;; *) echo unexpected: \$*; exit 1 ;; esac
'$(command -v cmake)' \"\$@\" \"\${hide[@]}\" >'$work/cmake' 2>&1
code=\$?
cat '$work/cmake'
exit \$code"
stand_in ctest "while [[ \$1 != --test-dir ]]; do shift; done
'$(command -v ctest)' -N --test-dir \"\$2\" | sed -n 's/^ *Test *#[0-9]*: //p' >'$work/tests'"
clone() { # clone NAME: links the sources into another folder, where builds are made
  mkdir "$work/$1"
  ln -s "$source_folder"/* "$work/$1"
  rm -f "$work/$1/build"
}
script() { # script CLONE NAME: runs a script with the stand-ins
  rm -f "$work/tests"
  PATH=$work/bin:$PATH bash "$work/$1/tools/$2" >"$work/output" 2>&1
}
says() { grep -q -- "$1" "$work/output"; }
configured() { grep -q '^-- Build files have been written' "$work/cmake"; }

# Configures with only the files that demo.sh installs.
export FILES=$files
clone bare
script bare demo.sh
expect "demo.sh configures with its own packages" configured
script bare test.sh
expect "test.sh says which packages it lacks" says 'install libgtest-dev'
presets=$(sed -n '/"buildPresets"/q; s/^ *"name": "\([a-z]*\)",$/\1/p' "$source_folder/CMakePresets.json" |
  grep -vx base)
for preset in $presets; do
  (cd "$work/bare" && "$work/bin/cmake" --preset "$preset" -B "$work/presets/$preset") >"$work/output" 2>&1
  if configured; then
    expect "preset $preset says that it leaves the tests out" says \
      'The tests are left out; to build them, install libgtest-dev and libgmock-dev'
  else
    expect "preset $preset says what is missing" says 'install libgtest-dev\|clang++'
  fi
done
for preset in $(sed -n 's/^Presets: //p' "$source_folder/README.md" | grep -o '`[a-z]*`' | tr -d '`'); do
  expect "README names a preset: $preset" test -d "$work/presets/$preset"
done
expect "README names presets" test -d "$work/presets/release"
(cd "$work/bare" && "$(command -v ctest)" --preset release) >"$work/output" 2>&1
expect "no tests are a failure" test $? -ne 0
expect "which is said" says 'No tests were found'
unset FILES

# Runs demo.sh and test.sh in either order, with everything that this machine has.
commands() { grep -E '"command": .* -o (src|tools)/' "$1/build/release/compile_commands.json"; }
clone tests_only
script tests_only test.sh
expect "test.sh has tests" test "$(wc -l <"$work/tests")" -gt 100
cp "$work/tests" "$work/every_test"
script tests_only demo.sh
expect "demo.sh configures after test.sh" configured
script tests_only test.sh
expect "demo.sh takes no test away" cmp "$work/tests" "$work/every_test"
clone demo_first
script demo_first demo.sh
expect "demo.sh configures" configured
commands "$work/demo_first" >"$work/commands"
script demo_first test.sh
expect "after demo.sh every test is there" cmp "$work/tests" "$work/every_test"
expect "the library is built by the same commands" test -s "$work/commands"
expect "so it is built once" cmp "$work/commands" <(commands "$work/demo_first")
exit $failures
