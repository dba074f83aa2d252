# Sourced by the tests of scripts, with the source folder as $1. Defines stand-ins for Debian's
# package tools, CMake, CTest and qtool, a clone of the scripts that runs against them, and checks
# of the output and of the calls.
set -u
unset QTOOL_CI_SECONDS # it may be set by a run that this test is part of
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
# A package counts as installed when a file with its name exists. The stand-in for apt-get creates
# these files.
mkdir "$work/installed"
stand_in dpkg-query "[[ -e $work/installed/\${!#} ]] && printf installed"
stand_in apt-get "echo \"apt-get \$*\" >>$work/calls
case \$* in *broken*) exit 100 ;; *install*) for p; do touch $work/installed/\$p; done ;; esac"
stand_in sudo "echo sudo >>$work/calls; \"\$@\""
stand_in id 'echo 0'
says() { grep -q -- "$1" "$work/output"; }
called() { grep -q -- "$1" "$work/calls"; }
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

