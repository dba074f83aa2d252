# Every third-party library the project uses, all of them Debian 12 packages. Also read by the
# installed package's configuration, so that find_package(qtool) finds what it needs.
find_package(Threads REQUIRED)
if(NOT QTOOL_STD_THREADS)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
# ONNX's exported targets name protobuf::libprotobuf, which only FindProtobuf defines.
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(dnnl REQUIRED)
find_package(nlohmann_json REQUIRED)
