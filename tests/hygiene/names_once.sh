#!/bin/sh
# The files of a room are compiled in batches (cmake/QtoolBatches.cmake), so each name in an anonymous
# namespace belongs to one file of its room: functions of one name with different parameters would compile,
# and now and then the wrong one would be called. Several files may have the same alias, and `PrintTo`,
# which GoogleTest finds by its argument. The files of an instruction set are compiled alone.
# Usage: names_once.sh ROOT; prints `file:line: what`; exit 1 on breaches.
set -eu
cd "$1"
sets=$(sed -n 's/^qtool_add_isa(\([a-z0-9_]*\) .*/\1/p' src/CMakeLists.txt | paste -sd '|' -)
folders=$(
  grep -rl '^ *qtool_batch(' --include=CMakeLists.txt --exclude-dir=samples src tests tools |
    sed -n 's,/CMakeLists.txt$,,; /^tests$/!p'
  sed -n 's,^ *qtool_add_tests(\([a-z_]*\).*,tests/\1,p' tests/CMakeLists.txt
)
# shellcheck disable=SC2086  # several folders
find $folders -name '*.cpp' | grep -Ev "/kernels/[^/]+/(${sets:-none})\.cpp$" | LC_ALL=C sort | xargs awk '
  # The name that a statement defines, "" for none. `text` stands before `next_to`: its body, its value or
  # a semicolon. It has no arguments of templates, and @ for each pair of parentheses.
  function defined(text, next_to,    at) {
    while (gsub(/\[[^][]*\]/, "", text)) {}  # attributes and extents
    gsub(/(alignas|requires|noexcept|__attribute__) ?@+/, "", text)
    if (text ~ /^ *(namespace|using|static_assert|extern|typedef)[ @]/) return ""
    if (text ~ /^ *(TEST|TYPED_TEST|INSTANTIATE)[A-Z_]*@/) return ""
    if (text ~ /[ *&]operator([^A-Za-z0-9_]|$)/) return ""  # found by its arguments
    if (text ~ /^ *(enum|class|struct|union) [^@]*$/) {
      if (next_to != "{") return ""  # no more than declared
      sub(/ : .*/, "", text); sub(/ final/, "", text)
    } else if (at = index(text, "@")) {
      text = substr(text, 1, at - 1)
      if (next_to != "{" && text !~ / k[A-Z][A-Za-z0-9]*$/) return ""
    }
    sub(/ +$/, "", text); sub(/.*[ *&]/, "", text)
    return text ~ /::/ ? "" : text
  }
  function note(name, alias,    key, folders) {
    head = ""
    if (name == "" || name == "PrintTo") return
    split(FILENAME, folders, "/")
    key = folders[1] "/" folders[2] " " name
    if (!(key in first)) {
      first[key] = FILENAME; aliases[key] = alias
    } else if (first[key] != FILENAME && (alias == "" || alias != aliases[key])) {
      printf "%s:%d: %s is defined in %s too\n", FILENAME, line, name, first[key]
      breaches = 1
    }
  }
  # Takes the statement that `head` begins, when all is there that tells what it defines.
  function take(    text, name) {
    if (head ~ /^(template <[^=]*> )?(using|namespace) /) {
      if (head !~ /;/) return
      name = head; sub(/ ?[=;].*/, "", name); sub(/.*[ :]/, "", name)
      text = head; sub(/ ::/, " ", text)
      note(name, text)
      return
    }
    if (head ~ /^MATCHER[A-Z0-9_]*\([A-Za-z]/) {
      name = head; sub(/^[^(]*\(/, "", name); sub(/[^A-Za-z0-9_].*/, "", name)
      note(name, "")
      return
    }
    text = head
    while (gsub(/<[^<>]*>/, "", text)) {}
    while (gsub(/\([^()]*\)/, "@", text)) {}
    sub(/^template */, "", text)
    if (!match(text, /[{;=]/)) return
    name = substr(text, 1, RSTART - 1)
    if (name !~ /[(<]/ || name ~ /operator</) note(defined(name, substr(text, RSTART, 1)), "")
  }
  FNR == 1 { inside = 0; head = raw = "" }
  raw != "" {  # a string that began further up
    if (!(at = index($0, raw))) next
    $0 = " @" substr($0, at + length(raw)); raw = ""
  }
  match($0, /R"[^ ()]*\(/) {
    raw = ")" substr($0, RSTART + 2, RLENGTH - 3) "\""
    rest = substr($0, RSTART + RLENGTH); $0 = substr($0, 1, RSTART - 1) "@"
    if (at = index(rest, raw)) { $0 = $0 substr(rest, at + length(raw)); raw = "" }
  }
  /^namespace \{/ { inside = FNR; head = ""; next }
  /^\}  \/\/ namespace$/ || (/^\}$/ && FNR == inside + 2) { inside = 0 }  # no comment behind one line
  !inside || /^#/ || (head == "" && !/^[A-Za-z_\[]/) { next }
  {
    gsub(/"([^"\\]|\\.)*"/, "@"); gsub(/\047([^\047\\]|\\.)\047/, "@"); sub(/ *\/\/.*/, "")
    if (head == "" || head ~ /^template <.*> $/) line = FNR
    head = head $0 " "
    take()
  }
  END { exit breaches }' || exit 1
