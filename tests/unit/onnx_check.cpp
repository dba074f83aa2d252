#include "unit/onnx_check.h"

#include "graph/onnx/proto.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <onnx/checker.h>
#pragma GCC diagnostic pop

namespace qtool {

std::string complaint_of_checker(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "is not an ONNX file";
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace qtool
