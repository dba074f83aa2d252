#!/bin/sh
# The files of a room are compiled in batches (cmake/QtoolBatches.cmake), so only one file of a room
# may define a given name in an anonymous namespace. Otherwise functions with the same name and
# different parameters would compile, and sometimes the wrong one would be called. Several files may
# define the same alias, and `PrintTo`, which GoogleTest finds by its argument. The files of an
# instruction set are not compiled in batches.
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
  # Returns the name that a statement defines, or "". `text` is the part of the statement before
  # `next_to`, which is the brace of its body, the equals sign of its value or a semicolon. In
  # `text`, template arguments are removed and @ replaces each pair of parentheses.
  function defined(text, next_to,    at) {
    while (gsub(/\[[^][]*\]/, "", text)) {}  # attributes and extents
    gsub(/(alignas|requires|noexcept|__attribute__) ?@+/, "", text)
    if (text ~ /^ *(namespace|using|static_assert|extern|typedef)[ @]/) return ""
    if (text ~ /^ *(TEST|TYPED_TEST|INSTANTIATE)[A-Z_]*@/) return ""
    if (text ~ /[ *&]operator([^A-Za-z0-9_]|$)/) return ""  # chosen by their arguments
    if (text ~ /^ *(enum|class|struct|union) [^@]*$/) {
      if (next_to != "{") return ""  # only a declaration
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
  # Notes the name that the statement beginning with `head` defines, once enough of it has been
  # read.
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
  raw != "" {  # inside a raw string that began on an earlier line
    if (!(at = index($0, raw))) next
    $0 = " @" substr($0, at + length(raw)); raw = ""
  }
  match($0, /R"[^ ()]*\(/) {
    raw = ")" substr($0, RSTART + 2, RLENGTH - 3) "\""
    rest = substr($0, RSTART + RLENGTH); $0 = substr($0, 1, RSTART - 1) "@"
    if (at = index(rest, raw)) { $0 = $0 substr(rest, at + length(raw)); raw = "" }
  }
  /^namespace \{/ { inside = FNR; head = ""; next }
  /^\}  \/\/ namespace$/ || (/^\}$/ && FNR == inside + 2) { inside = 0 }  # one line: no comment
  !inside || /^#/ || (head == "" && !/^[A-Za-z_\[]/) { next }
  {
    gsub(/"([^"\\]|\\.)*"/, "@"); gsub(/\047([^\047\\]|\\.)\047/, "@"); sub(/ *\/\/.*/, "")
    if (head == "" || head ~ /^template <.*> $/) line = FNR
    head = head $0 " "
    take()
  }
  END { exit breaches }' || exit 1
