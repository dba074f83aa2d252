#!/bin/sh
# Makes the page of the embedded example, with and without hostile names in it, and hands both to
# page_test.mjs. Usage: page_test.sh NODE CHROMIUM QTOOL SOURCE_FOLDER
set -eu
node=$1 chromium=$2 qtool=$3 source=$4
[ -x "$node" ] || { echo "skipped: node is not installed"; exit 77; }
[ -x "$chromium" ] || { echo "skipped: chromium is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
model=$source/data/signs_mobilenet.onnx
"$qtool" calibrate "$model" --images "$source/data/calib" --preprocess "$source/data/preprocess.json" \
  --limit 20 --save-statistics -o t.json -q >log
"$qtool" analyze "$model" --table t.json --images "$source/data/calib" --limit 6 --suggest 1 -q \
  --report page.html >log
# Makes every name contain markup, which a careless page would execute. `<` is written as \u003c, as
# it always is in the data block of the page.
sed 's|"name":"[^"]*"|"name":"\\u003c/script>\\u003cimg src=x onerror=alert(1)>"|g' page.html \
  >hostile.html
"$node" "$source/tests/browser/page_test.mjs" "$chromium" page.html hostile.html
