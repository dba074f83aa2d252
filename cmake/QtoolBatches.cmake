# Files of one room are compiled in batches: what they include is read once for the whole batch, which
# takes a third of the time. So names in anonymous namespaces are unique within a room. For debugging,
# QTOOL_BATCHES=OFF compiles each file by itself.
option(QTOOL_BATCHES "Compile the files of a room in batches" ON)
set(QTOOL_BATCH_SIZE 8)

# Puts each of the sources of a target in a batch with its neighbours of the same folder below `root`; the
# names of these batches end in `kind`. Files with options of their own stay alone: CMake leaves them out.
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
