# Reads a JUnit file of CTest and prints it with the GoogleTest cases in place of each test that ran
# several of them. tests/runner/run_cases.sh wrote them into FOLDER, one file for each test. A test that was
# ended (ctest_unfinished.awk) stays one test.
# Usage: awk -v folder=FOLDER -f ctest_cases.awk FILE.xml
/<testcase / && !/ ended="yes"/ {
  split($0, parts, " name=\"")
  file = substr(parts[2], 1, index(parts[2], "\"") - 1)
  gsub("/", "%", file)
  file = folder "/" file ".xml"
  while ((getline line < file) > 0) {
    print line
    replaced = 1
  }
  close(file)
}
!replaced
/<\/testcase>/ { replaced = 0 }
