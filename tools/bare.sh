#!/usr/bin/env bash
# Runs README's two commands, tools/demo.sh and then tools/test.sh, in a bare Debian 12: a root with
# nothing but apt and what is essential, made by mmdebstrap in a temporary folder. A commit is cloned
# into it alone, so nothing that this machine has installed or that lies beside the clone can help. The
# last lines say what the tests skipped and why, and what each command took. Packages come from the
# package sources of this machine's apt. Needs root and a few gigabytes in TMPDIR. Not a part of .ci/run.
# Usage: tools/bare.sh [--keep] [COMMIT]     default: HEAD; what is not committed is left out
#   --keep   leaves the temporary folder, with the root and the output of both commands, in place
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

SUITE=bookworm
keep=no commit=
for option in "$@"; do
  case $option in
    -h | --help) script_help "$0"; exit 0 ;;
    --keep) keep=yes ;;
    -*) fail "unknown option '$option'; tools/bare.sh --help lists what there is" ;;
    *) [[ -z $commit ]] || fail "one commit at most is taken"; commit=$option ;;
  esac
done

[[ $(id -u) == 0 ]] || fail "tools/bare.sh mounts file systems, which only root may do: sudo tools/bare.sh"
for program in mmdebstrap git; do
  command -v $program >/dev/null && continue
  command -v apt-get >/dev/null ||
    fail "$program is missing, and this system has no apt-get to install it with"
  require_packages $program
done
unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
  fail "this system lets not even root mount file systems (a container without that right?)"

work=$(mktemp -d "${TMPDIR:-/tmp}/qtool-bare.XXXXXX")
root=$work/root
child=
exec {terminal}>&2  # stderr, in case a signal comes while output is redirected
finish() {
  local code=$?
  trap - EXIT
  trap '' INT TERM HUP
  exec 2>&"$terminal"
  if [[ -n $child ]]; then
    kill -KILL "$child" || true
    wait "$child" || true
  fi 2>/dev/null
  if grep -qF " $work/" /proc/self/mounts; then
    say "error: file systems are still mounted in $work, which is left in place"
  elif [[ $keep == yes ]]; then
    say "Left in place: $work"
  else
    # Killed processes may still be writing while they end.
    for _ in {1..20}; do
      rm -rf --one-file-system "$work" 2>/dev/null && break
      sleep 0.5
    done
    [[ ! -e $work ]] || say "error: $work could not be removed"
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The clone may belong to a user other than root. Then git must be told that it is trusted.
export GIT_CONFIG_GLOBAL=$work/gitconfig
git config --global safe.directory '*'
hash=$(git -C "$ROOT" rev-parse --verify --quiet "${commit:-HEAD}^{commit}") || fail "no commit '$commit'"
[[ -n $commit || -z $(git -C "$ROOT" status --porcelain) ]] ||
  say "What is not committed in $ROOT is left out."
git clone --quiet --no-checkout "file://$ROOT" "$work/qtool"
git -C "$work/qtool" checkout --quiet --detach "$hash"

# Runs a command with mounts and processes of its own. When the command or this script ends, for
# whatever reason, all of them are gone. The command runs in the background, so that this script
# reacts to a signal at once.
contained() {
  unshare --mount --pid --fork --kill-child --mount-proc "$@" &
  child=$!
  local code=0
  wait "$child" || code=$?
  child=
  return "$code"
}

# Runs a command in the root as on a machine of its own. It inherits only the proxy variables of the
# environment.
inside() {
  local proxies=() name
  for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!name-} ]] || proxies+=("$name=${!name}")
  done
  # shellcheck disable=SC2016  # expanded by the inner shell
  contained bash -ec 'root=$1; shift
    mount -t proc proc "$root/proc"
    for folder in dev sys; do mount --rbind "/$folder" "$root/$folder"; done
    exec chroot "$root" "$@"' bash "$root" \
    env -i --default-signal=INT,QUIT PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LANG=C.UTF-8 ${proxies[@]+"${proxies[@]}"} "$@"
}

# The package sources of this machine for Debian 12, as lines of a sources.list. If there are none,
# mmdebstrap uses Debian's own mirrors.
sources() {
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 2>/dev/null |
    sed -n -E "s/^Debian ($SUITE|$SUITE-updates|$SUITE-security) (deb [^ ]+ [^ ]+ [^ ]+)$/\2/p" | sort -u || true
}
# The options with which apt of this machine reaches its package sources.
apt_options() {
  apt-config dump --no-empty --format '%f "%v";%n' |
    grep -E '^Acquire::(https?|ftp|Check-[A-Za-z-]+|Retries|ForceIPv[46])(::[^ ]*)? ' || true
}

say "Making a bare Debian 12 in $root"
sources >"$work/sources.list"
if [[ ! -s $work/sources.list ]] && command -v apt-get >/dev/null; then  # its lists may have been removed
  apt-get -q update >/dev/null 2>&1 || true
  sources >"$work/sources.list"
fi
apt_options >"$work/apt.conf"
# Two packages serve the same purpose. mmdebstrap would choose usrmerge, which also installs all of
# perl.
printf 'Package: usrmerge\nPin: release *\nPin-Priority: -1\n' >"$work/no-usrmerge"
options=(--variant=minbase --mode=root --format=directory --aptopt="$work/apt.conf"
  --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
  --setup-hook="cp '$work/no-usrmerge' \"\$1/etc/apt/preferences.d/\""
  --customize-hook='rm "$1/etc/apt/preferences.d/no-usrmerge"')
# Certificates are not essential packages, but a mirror can only be reached by https with them.
if grep -q 'https://' "$work/sources.list"; then options+=(--include=ca-certificates); fi
if [[ -s $work/sources.list ]]; then
  contained env TMPDIR="$work" mmdebstrap "${options[@]}" "$SUITE" "$root" "$work/sources.list" >"$work/mmdebstrap.log" 2>&1
else
  contained env TMPDIR="$work" mmdebstrap "${options[@]}" "$SUITE" "$root" >"$work/mmdebstrap.log" 2>&1
fi || { tail -n 20 "$work/mmdebstrap.log" >&2; fail "mmdebstrap could not make a root"; }

mv "$work/qtool" "$root/root/qtool"

# The CPU seconds that the ended processes of this script have used.
cpu() { awk '{ print int(($16 + $17) / 100) }' "/proc/$$/stat"; }
table=("$(printf '%-16s %8s %8s' command wall CPU)")
failed=0
mkfifo "$work/pipe"
for script in demo test; do
  say "" "=== tools/$script.sh"
  wall=$SECONDS busy=$(cpu) result=passed
  tee "$work/$script.log" <"$work/pipe" &
  output=$!
  inside sh -c 'cd /root/qtool && exec "$@"' sh "tools/$script.sh" >"$work/pipe" 2>&1 || result=failed
  wait "$output"
  [[ $result == passed ]] || failed=1
  table+=("$(printf '%-16s %6d s %6d s   %s' "tools/$script.sh" $((SECONDS - wall)) \
    $(($(cpu) - busy)) "$result")")
done
say "" "A bare Debian 12, commit ${hash:0:12}, without ../shared; first tools/demo.sh, then tools/test.sh:"
sed -n '/^Total Test time/,$p' "$work/test.log" | grep -E '^(failed|skipped): |^[0-9]+ passed' || true
printf '%s\n' "${table[@]}"
exit "$failed"
