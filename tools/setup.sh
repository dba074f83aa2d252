# Sourced by demo.sh and test.sh: installs what is missing, builds, and says plainly what is wrong.
# Provides: require_packages, require_node, build_release, and the variables ROOT, BUILD and QTOOL.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build/release
# shellcheck disable=SC2034  # the scripts that source this file use them
QTOOL=$BUILD/tools/qtool/qtool

# The one list of packages, all from Debian 12 itself.
# shellcheck disable=SC2034
BUILD_PACKAGES=(
  cmake g++ ninja-build
  libcli11-dev libdnnl-dev libonnx-dev libprotobuf-dev libspdlog-dev libstb-dev
  nlohmann-json3-dev ocl-icd-opencl-dev protobuf-compiler
)
# shellcheck disable=SC2034
TEST_PACKAGES=(
  binutils libbenchmark-dev libgmock-dev libgtest-dev libonnx-testdata
)
NODE_PACKAGES=(nodejs npm)
OLDEST_NODE=18

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

# Prints those of the given packages that are not installed.
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
  local log
  log=$(mktemp)
  if ! "${sudo[@]}" apt-get -q update >"$log" 2>&1 ||
    ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# Node.js and npm for the cross-checks against other runtimes. Whatever is on PATH is taken when it
# is new enough: packages of other origin bring their own npm and conflict with Debian's.
require_node() {
  local major=0
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    require_packages "${NODE_PACKAGES[@]}"
  fi
  major=$(node -p 'process.versions.node.split(".")[0]')
  ((major >= OLDEST_NODE)) || fail "node $major is on PATH, $OLDEST_NODE or newer is needed"
}

# Configures and builds quietly; shows the tail of the log when something goes wrong.
# Arguments: targets (all of them when there are none).
build_release() {
  local log=$BUILD.log target_options=()
  (($# == 0)) || target_options=(--target "$@")
  mkdir -p "$(dirname "$log")"
  say "Building (log: ${log#"$ROOT"/}) ..."
  if ! (cd "$ROOT" && cmake --preset release >"$log" 2>&1 &&
    cmake --build --preset release "${target_options[@]}" >>"$log" 2>&1); then
    grep -E -A 6 'error|Error|FAILED' "$log" | head -n 40 >&2 || true
    fail "the build failed, see $log"
  fi
}
