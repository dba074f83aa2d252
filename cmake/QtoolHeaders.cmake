# Headers of other projects that cost more to compile than the files that include them, compiled once.
# qtool_precompile(<name> <header>... LIBRARIES <library>...) makes them; a program takes them with
# target_precompile_headers(<program> REUSE_FROM <name>). A file includes what it uses all the same.
function(qtool_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LIBRARIES)
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(${name} PRIVATE qtool_compile_options ${arg_LIBRARIES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_precompile_headers(${name} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  # Code of programs, not of libraries: the compiler wants headers and files to agree in it.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang's form names the folder it was made in: a compiler cache must not hand it to another one.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
