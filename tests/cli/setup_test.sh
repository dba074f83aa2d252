#!/bin/bash
# Runs the functions of tools/setup.sh against stand-ins of Debian's package tools.
# Usage: setup_test.sh SOURCE_FOLDER
set -u
source_folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() {  # expect NAME CONDITION...
  local name=$1
  shift
  "$@" || { echo "failed: $name"; cat "$work/output" "$work/calls"; failures=1; }
}

stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
mkdir "$work/bin"
# A package is installed when a file of its name exists; apt-get install makes them.
mkdir "$work/installed"
stand_in dpkg-query "[[ -e $work/installed/\${!#} ]] && printf installed"
stand_in apt-get "echo \"apt-get \$*\" >>$work/calls
case \$* in *broken*) exit 100 ;; *install*) for p; do touch $work/installed/\$p; done ;; esac"
stand_in sudo "echo sudo >>$work/calls; \"\$@\""
stand_in id 'echo 0'
run() { # run COMMANDS: in a shell with setup.sh sourced and the stand-ins first on PATH
  : >"$work/calls"
  PATH=$work/bin:$PATH bash -c "set -euo pipefail; . '$source_folder/tools/setup.sh'; $1" \
    >"$work/output" 2>&1
}
says() { grep -q -- "$1" "$work/output"; }
called() { grep -q -- "$1" "$work/calls"; }
silent() { [[ ! -s $work/output && ! -s $work/calls ]]; }

run 'require_packages one two'
expect "missing packages are installed" called 'install -y .*one two'
expect "lists are refreshed first" called 'update'
expect "what is installed is said" says 'Installing 2 packages: one two'
run 'require_packages one two'
expect "nothing is said or done when nothing is missing" silent
run 'require_packages one three'
expect "only what is missing is installed" called 'recommends three$'
run 'require_packages broken'
expect "a failed installation is an error" says "error: apt-get could not install: broken"
stand_in id 'echo 1000'
run 'require_packages four'
expect "sudo is used by other users" called '^sudo'

# Without Debian's tools only a message is possible.
mkdir "$work/other"
for tool in bash dirname id grep; do ln -s "$(command -v $tool)" "$work/other/$tool"; done
PATH=$work/other bash -c ". '$source_folder/tools/setup.sh'; require_packages five" \
  >"$work/output" 2>&1 && expect "another system is refused" false
expect "another system gets the list" says "has no apt-get.* five"

stand_in node 'echo 16'
stand_in npm 'true'
run 'require_node'
expect "an old node is refused" says 'node 16 is on PATH, 18 or newer is needed'
stand_in node 'echo 18'
run 'require_node'
expect "Debian's own node is accepted" silent
exit $failures
