#!/bin/bash
# Runs every command that README, docs and the help pages show, in a folder that holds the embedded
# example under the names they use. A command that fails fails the test. The paths of the program
# and the sources contain spaces, as a user's paths may.
# Usage: docs_test.sh QTOOL SOURCE_FOLDER PART PARTS
# The documents that have commands are divided among the parts in turn: part 1 of 5 runs the second,
# the seventh and so on. CTest runs the parts side by side.
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/qtool documents.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/run" "$work/run/photos"
ln -s "$(realpath "$1")" "$work/bin/qtool"
ln -s "$(realpath "$2")" "$work/sources"
part=$3 parts=$4
source=$work/sources
data=$source/data
export PATH=$work/bin:$PATH
cd "$work/run" || exit 1

# The names that the documents use.
for model in model.onnx signs.onnx; do cp "$data/signs_resnet.onnx" $model; done
# Copies only a few photographs of each class, because some commands run the network once per
# photograph and layer.
some() { # some COUNT FROM TO: copies COUNT photographs of each class
  mkdir "$3"
  (cd "$2" && ls -d */*.jpg) | awk -F / -v count="$1" '++seen[$1] <= count' |
    while read -r file; do
      mkdir -p "$3/${file%/*}"
      cp "$2/$file" "$3/$file"
    done
}
for folder in photos/calib DIR; do some 2 "$data/calib" $folder; done
some 1 "$data/test" photos/eval
cp "$data/labels.txt" "$data/preprocess.json" .
photo=$(find photos/eval -name '*.jpg' | head -1)
for name in photo.jpg dog.jpg; do cp "$photo" $name; done
mkdir tensors
{ # every byte of the data is '?'
  printf '\223NUMPY\001\000\166\000'
  printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 64, 64), }"
  head -c 196608 /dev/zero | tr '\0' '?'
} >tensors/two.npy
for copy in a.npy b.npy; do cp tensors/two.npy $copy; done
for folder in before after; do mkdir $folder && cp tensors/two.npy $folder; done
echo '{"exclude": ["/features/features.0/*"]}' >mine.json
ls -d "$PWD"/photos/calib/*/*.jpg | head -20 >list.txt
set -e
qtool calibrate model.onnx --images photos/calib --preprocess preprocess.json --save-statistics --quiet \
  >/dev/null
for copy in a.json t.json b.cache; do cp model.table.json $copy; done
qtool table convert model.table.json --to tensorrt -o calibration.cache --quiet >/dev/null
qtool quantize model.onnx --quiet >/dev/null
set +e

# The documents show commands for networks that are not in the repository. Puts the preprocessing
# and the tensor names of the embedded example in their place.
as_example() {
  sed -e 's/--preprocess imagenet/--preprocess preprocess.json/' \
    -e "s/'relu6_\*=/'\/features\/features.2\/*=/" -e 's/data=0/input=0/' \
    -e "s/--exclude conv0 --exclude b0.dw/--exclude '\/features\/features.2\/*'/"
}
# Prints why a command is not run, and nothing if it is run.
exception() {
  case $1 in
    *" MODEL "*) echo "a measurement with the networks of the benchmark, which are not part of this" ;;
    *" --boxes "*) echo "a detector, and the embedded example is none" ;;
    *" --also-time "*) echo "another runtime, which need not be installed" ;;
    *" vad.onnx "*) echo "a network for sound, and the embedded example is none" ;;
    *" COMMAND "* | *" TOPIC"*) echo "a placeholder" ;;
  esac
}

# Prints the commands of a document that are indented or fenced, with continued lines joined.
commands_of() {
  sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$1" |
    sed -n 's/^\(    *\|\)\(qtool [a-z].*\)$/\2/p' | sed 's/  *#.*//'
}

failed=0
ran=0
documents=("$source"/README.md "$source"/docs/*.md "$source"/docs/*/*.md)
for command in $(qtool completion bash | sed -n "s/^ *'') words='\([a-z ]*\) --.*/\1/p"); do
  qtool $command --help-all | sed -n '/^Example/,$s/^  / /p' | sed 's/^/   /' >"$work/help-$command"
  documents+=("$work/help-$command")
done
number=0
for document in "${documents[@]}"; do
  [ -n "$(commands_of "$document")" ] || continue
  number=$((number + 1))
  [ $(((number - 1) % parts)) -eq "$part" ] || continue
  while IFS= read -r line; do
    why=$(exception "$line")
    if [ -n "$why" ]; then
      echo "not run: $line ($why)"
      continue
    fi
    ran=$((ran + 1))
    if ! timeout 600 bash -c "$(echo "$line" | as_example)" >out 2>&1 </dev/null; then
      failed=1
      echo "failed, ${document##*/}: $line"
      cat out
    fi
  done < <(commands_of "$document")
done
echo "$ran commands run"
# Every part must run at least its share of 20 commands.
[ $((ran * parts)) -ge 20 ] || { echo "too few: the documents are not read"; exit 1; }

# The pages about targets and presets must have a row for each name.
for page in targets presets; do
  for name in $(qtool help $page | sed -n 's/^  \([a-z_-]*\)  .*/\1/p'); do
    grep -qE "^\| \[?\`$name\`(\]\([^)]*\))? \|" "$source/docs/$page.md" || { failed=1; echo "docs/$page.md lacks $name"; }
  done
done
exit $failed
