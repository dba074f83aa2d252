# Every third-party library the project uses, all of them Debian 12 packages. The configuration of the
# installed package reads this file too, so that find_package(qtool) finds them. There, a missing
# library is an error only if the caller said REQUIRED.
include(CMakeFindDependencyMacro)
set(QTOOL_REQUIRED REQUIRED)
if(CMAKE_FIND_PACKAGE_NAME)
  set(QTOOL_REQUIRED "")
endif()
find_dependency(Threads ${QTOOL_REQUIRED})
# Only for omp_set_num_threads(): it keeps oneDNN to one thread.
find_dependency(OpenMP ${QTOOL_REQUIRED} COMPONENTS CXX)
# ONNX's exported targets name protobuf::libprotobuf, which only FindProtobuf defines.
find_dependency(Protobuf ${QTOOL_REQUIRED})
find_dependency(ONNX ${QTOOL_REQUIRED})
find_dependency(dnnl ${QTOOL_REQUIRED})
find_dependency(nlohmann_json ${QTOOL_REQUIRED})
find_dependency(ZLIB ${QTOOL_REQUIRED})
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # FindWebP.cmake
find_dependency(WebP ${QTOOL_REQUIRED})
