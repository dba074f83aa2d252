#!/bin/bash
# Runs tools/setup.sh, test.sh, demo.sh and .ci/run against stand-ins of Debian's package tools, CMake
# and qtool.
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

# On systems without apt-get, setup.sh can only print which packages are needed.
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

# Commands are shown as they can be pasted, also those with spaces and quotes.
run "show two 'words here' \"it's\" a=b"
expect "a shown command can be pasted" says "^\\$ two 'words here' .*s.* a=b$"

# A clone with spaces in its path, in which the scripts run against stand-ins.
clone="$work/a clone"
mkdir "$clone" "$work/home" "$work/elsewhere"
cp -r "$source_folder/tools" "$source_folder/.ci" "$source_folder/CMakePresets.json" "$clone"
touch "$clone/tools/fuzz.sh"
chmod +x "$clone/tools/fuzz.sh"
ln -s "$source_folder/data" "$clone/data"
cat >"$work/qtool" <<END
#!/bin/bash
echo "qtool \$*" >>"$work/calls"
while ((\$#)); do
  [[ \$1 != -o ]] || echo file >"\$2"
  [[ \$1 != --json ]] || printf '  "top1": 0.5,\n  "top1": 0.5,\n  "agreement": 1,\n  "images_per_second": 2,\n  "images_per_second": 4\n'
  shift
done
END
chmod +x "$work/qtool"
stand_in cmake "echo \"cmake \$*\" >>$work/calls
while ((\$#)); do
  if [[ \$1 == -B ]]; then mkdir -p \"\$2/tools/qtool\"; cp $work/qtool \"\$2/tools/qtool/qtool\"; fi
  shift
done"
stand_in ctest "while ((\$#)); do [[ \$1 != --output-junit ]] || cp $work/results.xml \"\$2\"; shift; done"
cat >"$work/results.xml" <<'END'
	<testcase name="one" status="run">
		<system-out></system-out>
	</testcase>
	<testcase name="two" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>[ RUN      ] A.b
x.cpp:3: Skipped
no &quot;node&quot; here
</system-out>
	</testcase>
END
script() { # script NAME ARGUMENTS...: runs a script of the clone from another folder
  local name=$1
  shift
  : >"$work/calls"
  (cd "$work/elsewhere" && env -u XDG_CACHE_HOME HOME="$work/home" PATH="$work/bin:$PATH" bash "$clone/tools/$name" "$@") \
    >"$work/output" 2>&1
  code=$?
}
last_line_is() { [[ $(tail -n 1 "$work/output") == "$1" ]]; }
ends_with() { [[ $code -eq $1 ]]; }

stand_in id 'echo 0'
stand_in node 'echo 16'
script test.sh -R unit
expect "test.sh ends well" ends_with 0
expect "test.sh does not ask for node" eval '! says "node 16"'
expect "the last line counts" last_line_is '1 passed, 0 failed, 1 skipped'
expect "a skip has its reason" says '^skipped: no "node" here: two$'
script test.sh --with-onnxruntime
expect "--with-onnxruntime asks for node" says 'node 16 is on PATH'
expect "and fails without it" ends_with 1
sed -i 's/status="run"/status="fail"/' "$work/results.xml"
script test.sh
expect "a failed test is named" says '^failed: one$'
expect "a failed test fails" ends_with 1
expect "failures are counted" last_line_is '0 passed, 1 failed, 1 skipped'

stand_in node 'echo 18'
printf '#!/bin/bash\necho fuzzed $1\n' >"$clone/tools/fuzz.sh"
script ../.ci/run
expect "continuous integration fails with a test" ends_with 1
expect "a table says what became of each part" says '^threads .* s .* s   fail$'
expect "three suites and their parts failed" last_line_is '1 passed, 6 failed, 3 skipped'
sed -i 's/status="fail"/status="run"/' "$work/results.xml"
script ../.ci/run
expect "continuous integration passes" ends_with 0
expect "three suites and four parts passed" last_line_is '7 passed, 0 failed, 3 skipped'
expect "fuzzers run for ten minutes" says '^fuzzed 10$'
echo 'exit 1' >>"$clone/tools/fuzz.sh"
script ../.ci/run --release
expect "--release runs the first part alone" last_line_is '2 passed, 0 failed, 1 skipped'
script ../.ci/run
expect "a finding fails" ends_with 1
expect "a finding is counted" last_line_is '6 passed, 1 failed, 3 skipped'

for name in demo.sh test.sh; do
  script $name --help
  expect "$name has help" says "^Usage: tools/$name"
  expect "$name --help does nothing else" test ! -s "$work/calls"
done
script demo.sh --no-such-option
expect "demo.sh refuses unknown options" says "unknown option '--no-such-option'"
script demo.sh 'my results'
expect "demo.sh runs" ends_with 0
expect "a relative folder is that of the caller" \
  test -s "$work/elsewhere/my results/signs_resnet.int8.onnx"
expect "the build is shown" says "^\$ cmake --build '$clone/build/release' --target qtool$"
expect "its length is said" says 'minutes the first time'
expect "every command is shown" says "^\$ .*qtool' quantize data/signs_resnet.onnx "
expect "the table comes last" says '^signs_resnet .*2.00x'

# A checkout that cannot be written to. The folder for builds is a file here, because permissions
# do not stop root.
rm -rf "$clone/build"
touch "$clone/build"
script demo.sh
expect "a read-only checkout is built elsewhere" called "cmake --build $work/home/.cache/qtool/"
expect "and where is said" says "cannot be written to: building in $work/home/.cache/qtool/"
expect "and its results lie there" says "standard ONNX: $work/home/.cache/qtool/"
exit $failures
