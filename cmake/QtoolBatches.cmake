# Files of one room (a folder below the root) are compiled in batches. The headers that they include
# are read once for the whole batch, which takes a third of the time. Therefore names in anonymous
# namespaces must be unique within a room. For debugging, QTOOL_BATCHES=OFF compiles each file by
# itself.
option(QTOOL_BATCHES "Compile the files of a room in batches" ON)
set(QTOOL_BATCH_SIZE 8)

# Puts each source of a target in a batch with its neighbours of the same folder below `root`. The
# names of these batches end in `kind`. CMake compiles files with options of their own alone.
function(qtool_batch target root kind)
  if(NOT QTOOL_BATCHES)
    return()
  endif()
  set(sources ${ARGN})
  list(SORT sources)
  foreach(source ${sources})
    file(RELATIVE_PATH room ${root} ${source})
    string(REGEX REPLACE "/.*" "" room ${room})
    if(NOT DEFINED count_${room})
      set(count_${room} 0)
    endif()
    math(EXPR batch "${count_${room}} / ${QTOOL_BATCH_SIZE}")
    math(EXPR count_${room} "${count_${room}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}${kind}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
