# Installs the packages of package-lock.json into TARGET, once per lock file, without running their
# scripts: the CPU library is inside the package.
if(NOT NPM OR NOT NODE)
  message("SKIPPED: ONNX Runtime is not installed\nnode or npm is not installed")
  return()
endif()
file(SHA256 ${SOURCE}/package-lock.json lock)
set(stamp ${TARGET}/installed.txt)
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
  if(installed STREQUAL lock)
    return()
  endif()
endif()
file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${TARGET})
# Ends before CTest's own time for this test is over, which would be a failure. What npm leaves behind then
# would look like an installed package.
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund TIMEOUT 540
  WORKING_DIRECTORY ${TARGET} RESULT_VARIABLE result ERROR_VARIABLE error OUTPUT_QUIET)
if(NOT result EQUAL 0)
  file(REMOVE_RECURSE ${TARGET}/node_modules)
  message("SKIPPED: ONNX Runtime is not installed\nnpm could not install it (${result}): ${error}")
  return()
endif()
file(WRITE ${stamp} ${lock})
