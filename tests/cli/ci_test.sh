#!/bin/bash
# Runs .ci/run against stand-ins. `parts` checks the parts, their order and the counts; `deadline`
# checks that a part is ended at the deadline; `late` checks that a run fails when the packages or
# the release part do not end in time.
# Usage: ci_test.sh SOURCE_FOLDER parts|deadline|late
. "$(dirname "$0")/stand_ins.sh"

stand_in node 'echo 18'
stand_in npm 'true'
stand_in date "case \$* in +%s) echo \$((86400 * \${DAY_OF_TEST:-0})) ;; *) exec \$(PATH=/usr/bin:/bin command -v date) \"\$@\" ;; esac"
stand_in ninja "for i in 1 2 3 4 5 6 7 8 9 10; do echo \"\$i.o: CXX_COMPILER__core\"; done; echo 'core: phony'"
rows() { sed -i -E "$1" "$clone/.ci/parts"; }
# The cache folder belongs to the test. It keeps the list of parts that were left out, so it is
# removed before each run.
ci() { rm -rf "$work/home/.cache"; script ../.ci/run "$@"; }

parts() {
  printf '#!/bin/bash\necho fuzzed $1\n' >"$clone/tools/fuzz.sh"
  sed -i 's/status="run"/status="fail"/' "$work/results.xml"
  ci
  expect "continuous integration fails with a test" ends_with 1
  expect "a table says what became of each part" says '^threads .* s .* s   fail$'
  expect "four suites and their parts failed" last_line_is '2 passed, 8 failed, 4 skipped'
  sed -i 's/status="fail"/status="run"/' "$work/results.xml"
  ci
  expect "continuous integration passes" ends_with 0
  expect "four suites and six parts passed" last_line_is '10 passed, 0 failed, 4 skipped'
  expect "fuzzers run on the same inputs every time" says '^fuzzed fixed$'
  expect "a tenth of the files is compiled alone" called 'cmake --build .*/alone/release --target [0-9]*[.]o$'
  expect "what tools/check.sh asked of a build is taken back" called 'preset fuzz .*-DQTOOL_ALL_TESTS=OFF'
  echo 'exit 1' >>"$clone/tools/fuzz.sh"
  ci release
  expect "a part runs alone" last_line_is '2 passed, 0 failed, 1 skipped'
  ci
  expect "a finding fails" ends_with 1
  expect "a finding is counted" last_line_is '9 passed, 1 failed, 4 skipped'
  ci nothing
  expect "an unknown part is refused" says "no part 'nothing', there are: release sanitizers"
  printf '#!/bin/bash\n' >"$clone/tools/fuzz.sh"
  (cd "$work" && HOME=$work/home PATH="$work/bin:$PATH" bash 'a clone/.ci/run' release) >"$work/output" 2>&1
  expect "it can be called from another folder" last_line_is '2 passed, 0 failed, 1 skipped'

  # If packages cannot be installed, that counts as one failure.
  rm "$work/installed/clang"
  cp "$work/bin/apt-get" "$work/apt-get"
  stand_in apt-get 'exit 100'
  ci
  expect "without packages it fails" ends_with 1
  expect "and counts all the same" last_line_is '0 passed, 1 failed, 0 skipped'
  expect "and names what failed" says '^failed: packages$'
  cp "$work/apt-get" "$work/bin/apt-get"

  # Parts that would not end in time are not started.
  rows 's/^(release +release).*/\1 1 0/; s/^(sanitizers|corpora|fuzzing)( +[a-z,]+).*/\1\2 1000 0/;
    s/^(threads|alone)( +[a-z]+).*/\1\2 0 0/'
  export QTOOL_CI_SECONDS=300
  ci
  expect "a part that does not fit is left out" says '^sanitizers .* left out$'
  expect "and the run is good all the same" ends_with 0
  expect "with what is missing before its last line" \
    last_line_is 'incomplete: 5 passed, 0 failed, 5 skipped'
  expect "and a reason" says '^skipped: would take about [0-9]* s, [0-9]* s are left: '
  order_is() { [[ $(sed -n 's/^=== //p' "$work/output" | grep -v packages | tr '\n' ' ') == "$1 " ]]; }
  expect "the parts have an order" order_is 'release threads alone'
  rows 's/^(corpora +targets).*/\1 0 0/'
  script ../.ci/run threads # running a single part keeps the list of left-out parts
  script ../.ci/run
  expect "parts that were left out come first, after the release" order_is 'release corpora fuzzing threads alone'
  script ../.ci/run
  expect "parts that are no longer left out go back to their place" \
    order_is 'release threads corpora fuzzing alone'
  rows 's/^(fuzzing +targets).*/\1 0 0/'
  printf 'fuzzing\nthreads\n' >"$work/home/.cache/qtool/ci_left_out"
  script ../.ci/run
  expect "those that wait longest come first" order_is 'release fuzzing threads corpora alone'
  rows 's/^(sanitizers +[a-z,]+).*/\1 0 0/'
  ci
  expect "without a list the order is that of the parts" order_is 'release sanitizers threads corpora fuzzing alone'
  DAY_OF_TEST=1 ci
  expect "but every other day the threads come first" order_is 'release threads sanitizers corpora fuzzing alone'
  # A row of 0 seconds says nothing about the machine.
  cp "$work/bin/ctest" "$work/ctest"
  stand_in ctest "case \$* in *release*) sleep 1 ;; esac; exec bash $work/ctest \"\$@\""
  rows 's/^(release +release).*/\1 0 0/'
  ci release threads
  expect "it does not scale the time of other parts" last_line_is '4 passed, 0 failed, 2 skipped'
  expect "nor is it divided by" eval '! says "division by 0"'
  cp "$work/ctest" "$work/bin/ctest"
  # Other parts than the release end within 40 minutes, however much time there is. The release takes
  # less than its row here, so it does not scale their time.
  rows 's/^(release +release).*/\1 1000 0/; s/^(sanitizers +[a-z,]+).*/\1 0 2401/'
  QTOOL_CI_SECONDS=4000 ci
  expect "a part that would not end within 40 minutes is left out" order_is 'release threads corpora fuzzing alone'
  expect "and says how much of them is left" says '^skipped: would take about 2401 s, \(1[0-9]\|2[0-4]\)[0-9][0-9] s are left: '
  # A release part that fails early must not make the estimated times of the other parts shorter.
  rows 's/^(sanitizers +[a-z,]+).*/\1 0 400/'
  sed -i 's/status="run"/status="fail"/' "$work/results.xml"
  ci
  expect "a part takes no less than its row" says '^sanitizers .* left out$'
  sed -i 's/status="fail"/status="run"/' "$work/results.xml"
}

deadline() {
  # A part that is still running at the deadline is ended, together with processes that left its
  # process group or session. CTest still gets time to report the results of its tests. One of its
  # tests is a group of GoogleTest cases that is still running.
  cp "$work/bin/ctest" "$work/ctest"
  first=9$$1 second=9$$2 third=9$$3
  stand_in ctest "case \$* in
    *-N) printf '  Test  #1: one\n  Test #2: two words\n  Test #3: three\n' ;;
    *tsan*) printf '1/3 Test #1: one .......   Passed    0.01 sec\n2/3 Test #2: two words ....***Failed    0.01 sec\n'
      mkdir -p '$clone/build/tsan/tests/results'
      echo '<testcase name=\"three.a\" status=\"fail\"></testcase>' >'$clone/build/tsan/tests/results/three.xml'
      trap 'echo \"3/3 Test #3: three ....***Exception\"' TERM
      sleep $first & setsid sleep $third & set -m; sleep $second & wait; wait ;;
    *) bash $work/ctest \"\$@\" ;;
  esac"
  rows 's/ [0-9]+ +[0-9]+$/ 0 0/'
  QTOOL_CI_SECONDS=12 ci release threads
  expect "a part is ended at the deadline" says "^The time is over: 'threads' is ended"
  expect "its tests without a result are skipped" says '^skipped: the time was over: threads, three$'
  expect "its tests with a result keep it" last_line_is 'incomplete: 3 passed, 1 failed, 3 skipped'
  expect "a failed test of an ended part fails" ends_with 1
  expect "nothing of its groups is left" \
    eval '! grep -lzxE "$first|$second|$third" /proc/[0-9]*/cmdline 2>/dev/null'
  # When the run is stopped, a process that reads its output does not have to wait for the deadline.
  : >"$work/output"
  (HOME=$work/home PATH="$work/bin:$PATH" QTOOL_CI_SECONDS=100 exec bash "$clone/.ci/run" threads) 2>&1 |
    tee "$work/output" >/dev/null &
  for ((i = 0; i < 100; ++i)); do says '^2/3' && break; sleep 0.1; done
  began=$SECONDS
  pkill -TERM -f "^bash $clone/.ci/run threads\$"
  wait
  expect "it can be stopped" test $((SECONDS - began)) -lt 30
}

late() {
  rm -f "$work/installed/clang"
  cp "$work/bin/apt-get" "$work/apt-get"
  stand_in apt-get 'sleep 100'
  QTOOL_CI_SECONDS=2 ci
  expect "waiting for packages ends at the deadline" last_line_is 'incomplete: 0 passed, 0 failed, 1 skipped'
  expect "and is a failure" ends_with 1
  cp "$work/apt-get" "$work/bin/apt-get"

  rows 's/ [0-9]+ +[0-9]+$/ 0 0/'
  stand_in ctest 'sleep 100'
  QTOOL_CI_SECONDS=8 ci
  expect "a release that does not end in time fails" ends_with 1
  expect "and says so" says '^failed: the release part did not end in time$'
}

"$2"
exit $failures
