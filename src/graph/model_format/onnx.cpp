#include "qtool/graph/onnx.h"

#include "qtool/graph/model_format.h"

namespace qtool {

// A model is a message of protobuf, which may begin with any field and has no mark.
ModelFormat model_format_onnx() {
  return {.name = "ONNX",
          .ending = ".onnx",
          .recognises = nullptr,
          .load = load_onnx,
          .load_files = load_onnx_files,
          .save = save_onnx_files};
}

}  // namespace qtool
