# Sourced by demo.sh, test.sh and .ci/run. Installs missing packages, builds, and explains failures.
# Provides: require_packages, require_node, choose_builds, choose_program, build, configure, make_targets,
# build_program, build_all, slowest_tests, run_tests, show, script_help, and the variables ROOT, BUILDS (the
# folder of all builds, one per preset) and QTOOL (the program).

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The only list of packages. All of them are in Debian 12.
# shellcheck disable=SC2034
BUILD_PACKAGES=(
  cmake g++ ninja-build
  libcli11-dev libdnnl-dev libeigen3-dev libonnx-dev libprotobuf-dev libspdlog-dev libstb-dev
  libwebp-dev libxxhash-dev nlohmann-json3-dev ocl-icd-opencl-dev protobuf-compiler zlib1g-dev
)
# shellcheck disable=SC2034
TEST_PACKAGES=(
  binutils libbenchmark-dev libgmock-dev libgtest-dev libonnx-testdata
)
# Needed by .ci/run in addition.
# shellcheck disable=SC2034
CHECK_PACKAGES=(clang clang-format fish libclang-rt-14-dev lld llvm zsh)
BROWSER_PACKAGES=(chromium)
# Networks of other projects, made with random weights. The packages are large, so .ci/run does not
# install them, and that test is skipped.
# shellcheck disable=SC2034
NETWORK_PACKAGES=(python3-torchvision python3-onnx)
NODE_PACKAGES=(nodejs npm)
OLDEST_NODE=18

say() { printf '%s\n' "$@" >&2; }
fail() { say "error: $*"; exit 1; }

# Prints a command in a form that can be pasted into a shell.
show() {
  local word line=
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]]; then line+=" $word"; else line+=" ${word@Q}"; fi
  done
  say "\$$line"
}

# Builds are in the clone, or in the user's cache if the clone cannot be written to.
choose_builds() {
  BUILDS=$ROOT/build
  if ! { mkdir -p "$BUILDS" && [[ -w $BUILDS ]]; } 2>/dev/null; then
    BUILDS=${XDG_CACHE_HOME:-${HOME:?}/.cache}/qtool/$(cksum <<<"$ROOT" | cut -d ' ' -f 1)
    mkdir -p "$BUILDS"
    say "$ROOT/build cannot be written to: building in $BUILDS"
  fi
  # shellcheck disable=SC2034  # the scripts that source this file use it
  QTOOL=$BUILDS/release/tools/qtool/qtool
}

# Prints the comment at the top of a script, which is its help.
script_help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$1"; }

# Prints the given packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$package"
  done
}

# Fails without apt-get; other systems name the same libraries differently.
require_debian() {
  local id=unknown
  [[ -r /etc/os-release ]] && id=$(. /etc/os-release && printf '%s' "${ID:-unknown}")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    fail "this system ($id) has no apt-get. Install the equivalents of these Debian 12 packages," \
      "then run 'cmake --preset release && cmake --build --preset release':" "$@"
  fi
}

# Installs the packages that are missing; silent when there are none.
require_packages() {
  local missing sudo=()
  require_debian "$@"
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
      fail "these packages are missing and there is no sudo to install them;" \
        "as root run: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  say "Installing ${#missing[@]} packages: ${missing[*]}"
  local log apt_get=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3)
  log=$(mktemp)
  if ! "${sudo[@]}" "${apt_get[@]}" update >"$log" 2>&1 ||
    ! "${sudo[@]}" "${apt_get[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# Node.js and npm for the cross-checks against other runtimes. If both are on PATH and new enough,
# they are used, because packages from elsewhere bring their own npm and conflict with Debian's.
require_node() {
  local major=0
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    require_packages "${NODE_PACKAGES[@]}"
  fi
  major=$(node -p 'process.versions.node.split(".")[0]')
  ((major >= OLDEST_NODE)) || fail "node $major is on PATH, $OLDEST_NODE or newer is needed"
}

# Configures and builds a preset. Arguments: preset, options for the configuration (-D...), targets
# (default: all).
build() {
  local preset=$1 options=()
  shift
  while [[ ${1-} == -D* ]]; do options+=("$1"); shift; done
  configure "$preset" ${options[@]+"${options[@]}"}
  make_targets "$preset" "$@"
}

configure() { # configure PRESET OPTION...
  local preset=$1 log=$BUILDS/$1.log
  shift
  : >"$log"
  say "" "Building: minutes the first time, seconds from then on; output goes to $log"
  logged "$log" cmake -S "$ROOT" --preset "$preset" -B "$BUILDS/$preset" "$@"
}

make_targets() { # make_targets PRESET TARGET...: every target when there are none
  local preset=$1
  shift
  (($# == 0)) || set -- --target "$@"
  logged "$BUILDS/$preset.log" cmake --build "$BUILDS/$preset" "$@"
}

# build_program makes the release build without tests, which needs only BUILD_PACKAGES. build_all
# makes it with all tests. Both use one folder, and CMake remembers options from one call to the
# next, so each call gives all options.
build_program() { build release -DQTOOL_BUILD_TESTS=OFF -DQTOOL_BUILD_BENCHMARKS=OFF qtool; }
build_all() { build release -DQTOOL_BUILD_TESTS=ON -DQTOOL_BUILD_BENCHMARKS=ON; }

# Sets `program` to qtool of the release preset and builds it, unless the caller has set it already.
choose_program() {
  if [[ -z $program ]]; then
    require_packages "${BUILD_PACKAGES[@]}"
    choose_builds
    build_program
    program=$QTOOL
  fi
}

# Shows and runs a command. Its output goes to LOG; errors in it are shown only if the command
# fails.
logged() { # logged LOG COMMAND...
  local log=$1
  shift
  show "$@"
  "$@" >>"$log" 2>&1 && return
  grep -E -A 6 'error|Error|FAILED' "$log" | head -n 40 >&2 || true
  fail "'$1' ended with an error, see $log"
}

# Prints the slowest tests in JUnit files of CTest, and how many tests took too long. A slow test
# does not fail.
slowest_tests() {
  awk '/<testcase / {
      split($0, name, " name=\""); split($0, time, " time=\"")
      printf "%.2f %s\n", time[2], substr(name[2], 1, index(name[2], "\"") - 1)
    }' "$@" | sort -rn | awk '
    BEGIN { print "the slowest tests, in seconds:" }
    NR <= 10 { print "  " $0 }
    $1 > 20 { ++long }
    END { print (long ? long " took" : "none took") " more than 20 s" }'
}

# Runs the tests of a build. The last lines are the slowest tests and the summary of
# ctest_summary.awk, which counts each GoogleTest case. Arguments: preset, options of ctest.
run_tests() {
  local preset=$1 results=$BUILDS/$1.xml cases=$BUILDS/$1/tests/results
  shift
  rm -rf "$results" "$results.ctest" "$cases"
  show ctest --test-dir "$BUILDS/$preset" "$@"
  ctest --test-dir "$BUILDS/$preset" "$@" -N >"$BUILDS/$preset.tests"
  ctest --test-dir "$BUILDS/$preset" --output-on-failure --output-junit "$results.ctest" "$@" || true
  [[ -e $results.ctest ]] || fail "ctest wrote no results"
  awk -v folder="$cases" -f "$ROOT/tools/ctest_cases.awk" "$results.ctest" >"$results"
  rm "$results.ctest"
  slowest_tests "$results"
  awk -f "$ROOT/tools/ctest_summary.awk" "$results"
}
