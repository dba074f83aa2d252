# Turns the output of a run of CTest that was ended into results as CTest would have written them: tests
# that had ended keep their result, the others are skipped. The first file lists the tests, as
# `ctest -N` prints them, the second is the output.
# Usage: awk -f ctest_unfinished.awk list=yes LIST list=no OUTPUT
list == "yes" { if ($1 == "Test" && sub(/^ *Test +#[0-9]+: /, "")) { names[++count] = $0 } next }
$1 ~ /^[0-9]+\/[0-9]+$/ && $2 == "Test" {
  line = $0
  sub(/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /, "", line)
  status = line ~ /   Passed +[0-9.]+ sec/ ? "run" : line ~ /\*\*\*(Skipped|Not Run)/ ? "notrun" : "fail"
  sub(/ \.\.\.*.*$/, "", line)
  result[line] = status
}
function escaped(text) {
  gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); gsub(/"/, "\\&quot;", text)
  return text
}
END {
  for (i = 1; i <= count; ++i) {
    status = names[i] in result ? result[names[i]] : "none"
    printf "<testcase name=\"%s\" status=\"%s\"%s>\n", escaped(names[i]), status == "none" ? "notrun" : status,
      status == "none" ? " ended=\"yes\"" : ""
    if (status == "none") print "<system-out>skipped: the time was over\n</system-out>"
    if (status == "notrun") print "<system-out>skipped: no reason recorded\n</system-out>"
    print "</testcase>"
  }
}
