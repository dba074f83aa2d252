# One interface target carries the flags that every file of the project is built with.
add_library(qtool_compile_options INTERFACE)

# The compiler must not fuse a multiply and an add on its own: results would differ between ISAs.
target_compile_options(qtool_compile_options INTERFACE -ffp-contract=off)
target_compile_options(qtool_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wold-style-cast -Wcast-qual -Wextra-semi)
# g++ 12 wrongly warns of overlapping copies in std::string's operator+ (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(qtool_compile_options INTERFACE -Wno-restrict)
endif()
if(QTOOL_WARNINGS_AS_ERRORS)
  target_compile_options(qtool_compile_options INTERFACE -Werror)
endif()

if(QTOOL_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # With sanitizers, g++ 12 wrongly warns that copying a vector writes beyond its end.
    target_compile_options(qtool_compile_options INTERFACE -Wno-stringop-overflow)
  endif()
  target_compile_options(qtool_compile_options INTERFACE
    -fsanitize=${QTOOL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(qtool_compile_options INTERFACE -fsanitize=${QTOOL_SANITIZE})
  # Programs built with sanitizers are large; lld links them in a tenth of the time.
  find_program(QTOOL_LLD ld.lld)
  if(QTOOL_LLD)
    target_link_options(qtool_compile_options INTERFACE -fuse-ld=lld)
  endif()
endif()

# The program reads untrusted files. So copies are checked (_FORTIFY_SOURCE), stack frames have
# canaries, and the loader fills the table of addresses before main() and then makes it read-only
# (relro, now). __FILE__ is relative, so that no path of the build machine gets into the program.
if(NOT QTOOL_SANITIZE)
  set(flags -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
      -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_compile_options(qtool_compile_options INTERFACE "$<$<NOT:$<CONFIG:Debug>>:${flags}>")
  target_link_options(qtool_compile_options INTERFACE
    "$<$<NOT:$<CONFIG:Debug>>:LINKER:-z,relro,-z,now>")
  # The linker leaves out functions that nothing calls. Without sections for each function it could
  # only leave out whole batches of files.
  target_compile_options(qtool_compile_options INTERFACE
    "$<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>")
  # The names of file-local functions would be a sixth of the program, so they are discarded.
  target_link_options(qtool_compile_options INTERFACE
    "$<$<CONFIG:Release>:LINKER:--gc-sections,--discard-all>")
endif()
