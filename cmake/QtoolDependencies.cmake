# Every third-party library the project uses, all of them Debian 12 packages. Also read by the
# installed package's configuration, so that find_package(qtool) finds what it needs; there, what is
# missing is as bad as the caller's REQUIRED says.
include(CMakeFindDependencyMacro)
set(QTOOL_REQUIRED REQUIRED)
if(CMAKE_FIND_PACKAGE_NAME)
  set(QTOOL_REQUIRED "")
endif()
find_dependency(Threads ${QTOOL_REQUIRED})
# For its settings alone: oneDNN is told to keep to one thread.
find_dependency(OpenMP ${QTOOL_REQUIRED} COMPONENTS CXX)
# ONNX's exported targets name protobuf::libprotobuf, which only FindProtobuf defines.
find_dependency(Protobuf ${QTOOL_REQUIRED})
find_dependency(ONNX ${QTOOL_REQUIRED})
find_dependency(dnnl ${QTOOL_REQUIRED})
find_dependency(nlohmann_json ${QTOOL_REQUIRED})
