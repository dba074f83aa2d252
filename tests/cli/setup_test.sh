#!/bin/bash
# Runs tools/setup.sh, test.sh, demo.sh and bare.sh against stand-ins of Debian's package tools,
# CMake and qtool.
# Usage: setup_test.sh SOURCE_FOLDER
. "$(dirname "$0")/stand_ins.sh"

run() { # run COMMANDS: runs them in a shell that has sourced setup.sh
  : >"$work/calls"
  PATH=$work/bin:$PATH bash -c "set -euo pipefail; . '$source_folder/tools/setup.sh'; $1" \
    >"$work/output" 2>&1
}
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

# Commands are shown in a form that can be pasted into a shell, even if they have spaces and quotes.
run "show two 'words here' \"it's\" a=b"
expect "a shown command can be pasted" says "^\\$ two 'words here' .*s.* a=b$"

stand_in id 'echo 0'
stand_in node 'echo 16'
script test.sh -R unit
expect "test.sh ends well" ends_with 0
expect "test.sh does not ask for node" eval '! says "node 16"'
expect "the last line counts" last_line_is '1 passed, 0 failed, 1 skipped'
expect "a skip has its reason" says '^skipped: no "node" here: two$'
expect "every test is built" called '--preset release .*-DQTOOL_BUILD_TESTS=ON -DQTOOL_BUILD_BENCHMARKS=ON$'
mv "$work/results.xml" "$work/kept.xml"
printf '<testsuite name="Linux-c++"\n\ttests="0">\n</testsuite>\n' >"$work/results.xml"
script test.sh
expect "no tests are a failure" ends_with 1
expect "which is said" says '^failed: no test was found$'
mv "$work/kept.xml" "$work/results.xml"
script test.sh --with-onnxruntime
expect "--with-onnxruntime asks for node" says 'node 16 is on PATH'
expect "and fails without it" ends_with 1
sed -i 's/status="run"/status="fail"/' "$work/results.xml"
script test.sh
expect "a failed test is named" says '^failed: one$'
expect "a failed test fails" ends_with 1
expect "failures are counted" last_line_is '0 passed, 1 failed, 1 skipped'

stand_in node 'echo 18'
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
expect "the demo needs no package of the tests" \
  called '--preset release .*-DQTOOL_BUILD_TESTS=OFF -DQTOOL_BUILD_BENCHMARKS=OFF$'
expect "the build is shown" says "^\$ cmake --build '$clone/build/release' --target qtool$"
expect "its length is said" says 'minutes the first time'
expect "every command is shown" says "^\$ .*qtool' quantize data/signs_resnet.onnx "
expect "the table comes last" says '^signs_resnet .*2.00x'

# Skipped tests with the same cause share one line, although each kind of test words the cause
# differently.
cat >"$work/causes.xml" <<'END'
<testcase name="cli.a" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: ../shared is absent
</system-out></testcase>
<testcase name="unit.b" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.b
x.cpp:3: Skipped
../shared is absent
</system-out></testcase>
<testcase name="interop.c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>SKIPPED: ../shared is absent
and more about it
</system-out></testcase>
<testcase name="unit.d" status="run"><system-out></system-out></testcase>
END
awk -f "$source_folder/tools/ctest_summary.awk" "$work/causes.xml" >"$work/output"
expect "one cause is one line" says '^skipped: ../shared is absent: cli.a, unit.b, interop.c$'
expect "and all are counted" last_line_is '1 passed, 0 failed, 3 skipped'

# Runs tools/bare.sh with stand-ins for the programs that make the root folder and enter it.
stand_in git "case \$* in
*rev-parse*HEAD*) echo 0123456789abcdef ;;
*rev-parse*) exit 1 ;;
*clone*) mkdir -p \"\${!#}/tools\" ;;
esac"
mkdir "$work/tmp"
export TMPDIR=$work/tmp
script bare.sh --help
expect "bare.sh has help" says '^Usage: tools/bare.sh'
stand_in id 'echo 1000'
script bare.sh
expect "bare.sh asks for root" says '^error: .* only root may do'
stand_in id 'echo 0'
stand_in apt-config "echo 'Acquire::http::Proxy \"http://here:1\";'; echo 'APT::Other \"no\";'"
stand_in unshare 'while [[ $1 == --* ]]; do shift; done; exec "$@"'
stand_in mount 'true'
stand_in chroot "root=\$1
shift
echo \"ran \${!#}\" >>$work/calls
[[ -d \$root/root/qtool/tools && ! -e \$root/root/shared ]] || exit 1
case \$* in
*sleep*) exec \"\$@\" ;;
*demo.sh) echo 'skipped: of the demo' ;;
*test.sh) printf 'skipped: while it runs\nTotal Test time\nskipped: why: a\n1 passed, 0 failed, 1 skipped\n' ;;
esac"
stand_in mmdebstrap "cp \"\${!#}\" $work/sources
for option; do [[ \$option != --aptopt=* ]] || cp \"\${option#*=}\" $work/options; done
for root; do [[ \$root != */root ]] || mkdir -p \"\$root/root\"; done"
stand_in apt-get "[[ \$1 != indextargets ]] || printf 'Debian %s http://%s\n' 'bookworm deb' 'here/ bookworm main' \
'trixie deb' 'there/ trixie main'"
script bare.sh
expect "bare.sh runs" ends_with 0
expect "the demo runs first, then the tests" \
  cmp -s <(grep '^ran' "$work/calls") <(printf 'ran tools/%s.sh\n' demo test)
expect "the order is said" says 'first tools/demo.sh, then tools/test.sh'
expect "what was skipped is said" says '^skipped: why: a$'
expect "what ran last comes last" eval '[[ $(tail -n 1 "$work/output") =~ ^tools/test.sh\ .*\ s\ .*\ s\ +passed$ ]]'
expect "the sources of this machine are used" \
  cmp -s "$work/sources" <(echo 'deb http://here/ bookworm main')
expect "and its proxy" cmp -s "$work/options" <(echo 'Acquire::http::Proxy "http://here:1";')
expect "nothing is left" test -z "$(ls "$work/tmp")"
script bare.sh --keep
expect "--keep leaves the root" test -d "$work"/tmp/qtool-bare.*/root
rm -rf "$work"/tmp/*
script bare.sh no-such-commit
expect "an unknown commit is refused" says "^error: no commit 'no-such-commit'$"
stand_in chroot 'exit 1'
script bare.sh
expect "a failed command is a failure" ends_with 1
expect "which is said" says '^tools/demo.sh .* failed$'
stand_in chroot "echo started >>$work/calls; exec sleep 60"
script bare.sh &
for ((i = 0; i < 100; ++i)); do called started 2>/dev/null && break; sleep 0.1; done
pkill -TERM -P $! -f tools/bare.sh
wait
expect "when it is interrupted nothing is left" test -z "$(ls "$work/tmp")"
stand_in mmdebstrap 'echo no mirror; exit 1'
script bare.sh
expect "a root that cannot be made is an error" says '^error: mmdebstrap could not make a root$'
expect "with its reason" says '^no mirror$'
stand_in unshare 'exit 1'
script bare.sh
expect "a machine that does not mount is refused" says '^error: this system lets not even root mount'
rm "$work/bin/mmdebstrap"
for tool in bash dirname cut grep sed cat; do ln -sf "$(command -v $tool)" "$work/other/$tool"; done
ln -sf "$work/bin/id" "$work/other/id"
PATH=$work/other bash "$clone/tools/bare.sh" >"$work/output" 2>&1
expect "without mmdebstrap and apt-get it is refused" says '^error: mmdebstrap is missing, and this system has no apt-get'

# A checkout that cannot be written to. The folder for builds is a file here, because permissions
# do not stop root.
rm -rf "$clone/build"
touch "$clone/build"
script demo.sh
expect "a read-only checkout is built elsewhere" called "cmake --build $work/home/.cache/qtool/"
expect "and where is said" says "cannot be written to: building in $work/home/.cache/qtool/"
expect "and its results lie there" says "standard ONNX: $work/home/.cache/qtool/"
exit $failures
