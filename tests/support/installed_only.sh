#!/usr/bin/env bash
# Fills FOLDER with links to the files of a bare Debian with the packages of some lists of
# tools/setup.sh: these packages, all packages that they depend on, apt, and the essential packages.
# `programs` links their programs, `files` makes a tree of the files that are needed to compile. A
# test that uses only FOLDER sees a bare Debian, whatever else this machine has.
# Usage: installed_only.sh programs|files FOLDER LIST...     e.g. BUILD_PACKAGES
# Exit code 77 if the files cannot be determined: there is no dpkg, or a package is not installed.
set -euo pipefail
kind=$1 folder=$2
shift 2
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/setup.sh"
rm -rf "$folder"
command -v dpkg-query >/dev/null || { echo "skipped: dpkg-query is not installed"; exit 77; }
wanted_packages=()
for list in "$@"; do
  declare -n packages_of_list=$list
  wanted_packages+=("${packages_of_list[@]}")
done

# Finds the packages. From alternatives (`a | b`) it takes the first one that is installed.
mapfile -t packages < <(
  dpkg-query -W -f '${db:Status-Status}\t${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n' |
    awk -F '\t' -v first="apt ${wanted_packages[*]}" '
      $1 != "installed" { next }
      {
        needed_by[$2] = $4
        if ($3 == "yes") queue[++last] = $2
        count = split($5, names, /, */)
        for (i = 1; i <= count; ++i) {
          sub(/[ (:].*/, "", names[i])
          if (names[i] != "") providers[names[i]] = providers[names[i]] " " $2
        }
      }
      END {
        count = split(first, names, " ")
        for (i = 1; i <= count; ++i) queue[++last] = names[i]
        for (next_one = 1; next_one <= last; ++next_one) {
          package = queue[next_one]
          if (package in done) continue
          done[package] = 1
          if (!(package in needed_by)) {  # a name that other packages provide
            count = split(providers[package], names, " ")
            for (i = 1; i <= count; ++i) queue[++last] = names[i]
            continue
          }
          print package
          count = split(needed_by[package], groups, /, */)
          for (i = 1; i <= count; ++i) {
            many = split(groups[i], names, / *[|] */)
            for (k = 1; k <= many; ++k) {
              sub(/[ (:].*/, "", names[k])
              if (!(names[k] in needed_by) && !(names[k] in providers)) continue
              queue[++last] = names[k]
              break
            }
          }
        }
      }'
)
for package in "${wanted_packages[@]}"; do
  [[ " ${packages[*]} " == *" $package "* ]] || { echo "skipped: $package is not installed"; exit 77; }
done
case $kind in
  programs) wanted='^/usr/s?bin/[^/]+$' ;;
  files) wanted='^/usr/(s?bin|lib[0-9]*|include|share/(cmake|eigen3))/' ;;
  *) echo "programs or files, not '$kind'"; exit 1 ;;
esac
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# In Debian 12 /bin is a link to /usr/bin and so on; packages use either name.
dpkg-query -L "${packages[@]}" | sed -E 's#^/(s?bin|lib[0-9]*)/#/usr/\1/#' | grep -E "$wanted" |
  LC_ALL=C sort -u >"$list"

# Debian's alternatives are links such as /usr/bin/awk that no package owns. The links made here
# lead to a program of the packages, even if the machine has chosen another program. Prints link and
# program.
alternatives() {
  local file
  for file in /var/lib/dpkg/alternatives/*; do
    awk 'FNR == NR { have[$0] = 1; next }
      FNR == 2 { link = $0 }
      /^$/ { programs = 1 }
      programs && $0 in have { print link, $0; exit }' "$list" "$file"
  done
}

mkdir -p "$folder"
if [[ $kind == programs ]]; then
  xargs ln -s -f -t "$folder" <"$list"
  alternatives | while read -r link program; do
    [[ ! $link =~ $wanted ]] || ln -s -f "$program" "$folder/${link##*/}"
  done
else
  for link in bin sbin lib lib64; do
    mkdir -p "$folder/usr/$link"
    ln -s "usr/$link" "$folder/$link"
  done
  # Folders are created and not linked, because they may hold files of other packages.
  xargs -d '\n' sh -c 'find "$@" -maxdepth 0 ! -type d' find <"$list" 2>/dev/null |
    xargs -d '\n' cp -s -P --parents -t "$folder" || true
  alternatives | while read -r link program; do
    mkdir -p "$folder${link%/*}"
    ln -s -f "$program" "$folder$link"
  done
fi
