# Writes the manual pages and completion scripts that the program makes from its own definitions.
# Usage: cmake -D QTOOL=PROGRAM -D INTO=FOLDER -P documents.cmake
cmake_minimum_required(VERSION 3.25)

function(write path)
  get_filename_component(folder ${INTO}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${QTOOL} ${ARGN} OUTPUT_FILE ${INTO}/${path} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write(man/man1/qtool.1 help --man)
foreach(command calibrate quantize infer eval inspect table bench completion help)
  write(man/man1/qtool-${command}.1 help --man ${command})
endforeach()
write(bash-completion/completions/qtool completion bash)
write(zsh/site-functions/_qtool completion zsh)
write(fish/vendor_completions.d/qtool.fish completion fish)
