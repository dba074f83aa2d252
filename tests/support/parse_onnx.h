#pragma once

#include <stdexcept>
#include <string>

#include "graph/onnx/defs.h"
#include "graph/onnx/proto.h"
#include "qtool/graph/onnx.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <onnx/defs/parser.h>
#pragma GCC diagnostic pop

namespace qtool {

/// A model in ONNX's text form, in which subgraphs and functions can be read by people.
inline onnx::ModelProto parse_onnx(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return model;
}

inline Graph load_text(const std::string& text) {
  return load_onnx_bytes(parse_onnx(text).SerializeAsString(), "", "text");
}

}  // namespace qtool
