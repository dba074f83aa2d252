# Arguments: BUILD SOURCE CONSUMER WORK GENERATOR CXX SANITIZE VERSION FILES, see CMakeLists.txt.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(file bin/qtool include/qtool/base/error.h)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "the installation lacks ${file}")
  endif()
endforeach()
run(${WORK}/prefix/bin/qtool --version)
if(NOT output MATCHES "qtool ${VERSION}")
  message(FATAL_ERROR "the installed program says: ${output}")
endif()

foreach(file man/man1/qtool.1 man/man1/qtool-calibrate.1 bash-completion/completions/qtool
    zsh/site-functions/_qtool fish/vendor_completions.d/qtool.fish)
  if(NOT EXISTS ${WORK}/prefix/share/${file})
    message(FATAL_ERROR "not installed: share/${file}")
  endif()
endforeach()

set(flags "")
if(SANITIZE)
  set(flags "-DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE}")
endif()
# README must show the same program as the one that is built here.
file(READ ${CONSUMER}/main.cpp program)
string(REGEX MATCH "  const qtool::Executor fp32.*\n} catch" program "${program}")
string(REGEX REPLACE "\n} catch$" "" program "${program}")
string(REPLACE "\n  " "\n" program "\n${program}")
file(READ ${SOURCE}/README.md readme)
string(FIND "${readme}" "${program}" position)
if(program STREQUAL "" OR position EQUAL -1)
  message(FATAL_ERROR "README.md does not show the program of ${CONSUMER}/main.cpp:\n${program}")
endif()

# Only the files of the tree and of the prefix can be found, unless the compiler is not in the tree.
set(hide "")
if(EXISTS ${FILES}${CXX})
  set(hide -DCMAKE_SYSROOT=${FILES} -DCMAKE_FIND_ROOT_PATH=${WORK}/prefix)
  foreach(kind PACKAGE LIBRARY INCLUDE PROGRAM)
    list(APPEND hide -DCMAKE_FIND_ROOT_PATH_MODE_${kind}=ONLY)
  endforeach()
else()
  message("all of this machine can be found: ${FILES}${CXX} is absent")
endif()

# find_package() asks for a version, so that the version file of the package is tested too.
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DQTOOL_WANTED=${VERSION} -DCMAKE_BUILD_TYPE=Release ${flags}
  ${hide})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer ${SOURCE}/data/signs_resnet.onnx ${SOURCE}/data/preprocess.json
  ${SOURCE}/data/calib ${WORK}/signs.int8.onnx)
if(NOT output MATCHES "int8 [0-9.]+ % of MACs.*agreement (9[0-9]|100)" OR NOT EXISTS ${WORK}/signs.int8.onnx)
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

# Where a library is missing, a project for which qtool is optional must still configure. It also sees
# that the tests' libraries are hidden.
file(WRITE ${WORK}/optional/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(optional CXX)
find_package(qtool QUIET)
if(qtool_FOUND)
  message(FATAL_ERROR \"found\")
endif()
find_package(GTest QUIET)
if(GTest_FOUND AND CMAKE_SYSROOT)
  message(FATAL_ERROR \"GTest is not hidden\")
endif()
")
run(${CMAKE_COMMAND} -S ${WORK}/optional -B ${WORK}/optional/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_DISABLE_FIND_PACKAGE_dnnl=ON ${hide})
