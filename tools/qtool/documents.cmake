# Writes the manual pages and completion scripts that the program makes from its own definitions.
# Usage: cmake -D QTOOL=PROGRAM -D INTO=FOLDER -P documents.cmake
cmake_minimum_required(VERSION 3.25)

function(write path)
  get_filename_component(folder ${INTO}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${QTOOL} ${ARGN} OUTPUT_FILE ${INTO}/${path} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write(man/man1/qtool.1 help --man)
# The program's page refers to the page of every command, for example as `.BR qtool\-infer (1)`.
file(STRINGS ${INTO}/man/man1/qtool.1 references REGEX "^[.]BR qtool[^ ]+ [(]1[)]")
if(NOT references)
  message(FATAL_ERROR "the manual page of the program refers to none of its commands")
endif()
foreach(reference ${references})
  string(REGEX REPLACE "^[.]BR qtool[^a-z]+([a-z]+) .*" "\\1" command ${reference})
  write(man/man1/qtool-${command}.1 help --man ${command})
endforeach()
write(bash-completion/completions/qtool completion bash)
write(zsh/site-functions/_qtool completion zsh)
write(fish/vendor_completions.d/qtool.fish completion fish)
