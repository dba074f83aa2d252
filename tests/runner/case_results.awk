# Reads the cases of a test of CTest (list_cases.sh) and what GoogleTest printed when it ran them; writes
# the results of the cases in the form of CTest's JUnit files. Exit code 1 when a case failed, 77 when
# all were skipped.
# Usage: awk -v test=TEST -v code=EXIT_CODE -f case_results.awk CASES_FILE LOG; EXIT_CODE is that of the
# program, "none" before it has run.
function escaped(text) {
  gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
  gsub(/"/, "\\&quot;", text); gsub(/[[:cntrl:]]/, " ", text)
  return text
}
# What the line says of the case that runs: "" when it is not the line that ends it. Output of the case
# itself may stand in front.
function verdict_of(line,    place) {
  place = match(line, /\[(       OK |  FAILED  |  SKIPPED )\] /)
  if (!place) return ""
  if (index(substr(line, place + 13), running) != 1 || line !~ / \([0-9]+ ms\)$/) return ""
  return substr(line, place, 12) ~ /OK/ ? "run" : substr(line, place, 12) ~ /FAILED/ ? "fail" : "notrun"
}
# Why a case has no result.
function why_none(name) {
  if (code == "none") return "it did not end"
  if (name == running) return "the program ended while it ran, exit code " code
  if (running != "") return "not run: the program ended in " running
  return "no result: the program ended with exit code " code
}
function write(name, status, seconds, mark) {
  printf "\t<testcase name=\"%s\" status=\"%s\" time=\"%.3f\">\n", name, status, seconds
  if (mark != "") print "\t\t" mark
  print "\t</testcase>"
}

BEGIN { prefix = substr(test, 1, index(test, ".")) }
FILENAME == ARGV[1] { if ($1 == test) order[++cases] = $2; next }
{ sub(/\r$/, "") }
/\[ RUN      \] / { running = $NF; why = ""; said_next = 0; next }
running == "" { next }
said_next { if (why == "") why = $0; said_next = 0 }
/: Skipped$/ { said_next = 1 }  # GoogleTest gives the reason on the next line
{
  verdict = verdict_of($0)
  if (verdict == "") next
  status[running] = verdict
  reason[running] = why
  match($0, /\([0-9]+ ms\)$/)
  time[running] = substr($0, RSTART + 1) / 1000
  running = ""
}
END {
  for (i = 1; i <= cases; ++i) {
    name = order[i]
    mark = ""
    if (!(name in status)) {
      ++failed
      status[name] = "fail"
      mark = "<failure message=\"" escaped(why_none(name)) "\"/>"
    } else if (status[name] == "fail") {
      ++failed
    } else if (status[name] == "notrun") {
      ++skipped
      mark = "<system-out>skipped: " escaped(reason[name]) "\n</system-out>"
    }
    write(prefix name, status[name], time[name], mark)
  }
  # Say what a sanitizer found when the program ended.
  if (code != "none" && code != 0 && !failed) {
    ++failed
    write(test ", the program", "fail", 0,
          "<failure message=\"exit code " code ", though no case failed\"/>")
  }
  exit failed ? 1 : skipped == cases ? 77 : 0
}
