# Precompiled headers, for headers of other projects that take longer to compile than the files of
# this project. qtool_precompile(<name> <header>... LIBRARIES <library>...) makes them; a program
# uses them by target_precompile_headers(<program> REUSE_FROM <name>). Files still include all that
# they use.
function(qtool_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LIBRARIES)
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(${name} PRIVATE qtool_compile_options ${arg_LIBRARIES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_precompile_headers(${name} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  # The headers and the files that use them must have the same flags for position-independent code.
  # These files belong to programs, so the flags are those of programs.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang stores the build folder in the compiled header, so a compiler cache must not reuse it in
    # another folder.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
