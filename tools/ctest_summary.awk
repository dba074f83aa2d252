# Reads CTest's JUnit files; prints what failed, what was skipped and why, and as the last line
# "N passed, N failed, N skipped". Fails when a test failed, or when none ran.
# Usage: awk -f ctest_summary.awk FILE.xml...
function attribute(name,    parts) {
  return split($0, parts, name "=\"") > 1 ? substr(parts[2], 1, index(parts[2], "\"") - 1) : ""
}
function plain(text) {
  gsub(/<[^>]*>/, "", text)
  sub(/^[ \t]+/, "", text)
  gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text); gsub(/&apos;/, "'", text)
  gsub(/&amp;/, "\\&", text)
  return text
}
/<testcase / { name = plain(attribute("name")); status = attribute("status"); why = ""; said_next = 0 }
/<skipped / { if (attribute("message") !~ /^SKIP_/) { status = "fail"; why = attribute("message") } }
/<failure / { why = plain(attribute("message")) }
/<system-out>/ { inside = 1 }
inside && why == "" {
  line = plain($0)
  if (said_next || tolower(line) ~ /^skipped:/) { sub(/^[A-Za-z]*: */, "", line); why = line }
  said_next = line ~ /: Skipped$/  # GoogleTest gives the reason on the next line
}
/<\/system-out>/ { inside = 0 }
/<\/testcase>/ {
  if (status == "run") {
    ++passed
  } else if (status == "fail") {
    ++failed
    print "failed: " name (why == "" ? "" : " (" why ")")
  } else {
    ++skipped
    if (why == "") why = status == "disabled" ? "disabled" : "no reason given"
    if (!(why in count)) order[++reasons] = why
    if (++count[why] <= 3) names[why] = names[why] (count[why] > 1 ? ", " : "") name
  }
}
END {
  for (i = 1; i <= reasons; ++i) {
    why = order[i]
    more = count[why] - 3
    print "skipped: " why ": " names[why] (more > 0 ? " and " more " more" : "")
  }
  if (passed + failed + skipped == 0) print "failed: no test was found"
  print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
  exit failed > 0 || passed == 0
}
