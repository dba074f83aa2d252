# Sourced by cases that send qtool a signal: . "$SOURCE/tests/cli/signals.sh"
# A signal that arrives before main() ends qtool without a word, and on a slow machine main() begins late.

# Starts qtool with these arguments in the background. Sets `pid`. A shell starts background commands
# deaf to SIGINT; env makes them hear it again.
start() {
  env --default-signal=INT "$QTOOL" "$@" &
  pid=$!
}

# Waits until a command succeeds. Ends the case if qtool ends before, and after two minutes.
wait_until() { # wait_until COMMAND...
  for _ in $(seq 1200); do
    ! "$@" 2>/dev/null || return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  "$@" 2>/dev/null || { echo "waited in vain for: $*"; kill -KILL "$pid"; exit 99; }
}

# Whether the process is qtool by now, no longer a shell or env, and catches SIGINT, which is bit 1.
catches_signals() {
  [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$QTOOL")" ] && grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status"
}
