#pragma once

#include <cstdint>
#include <string>

#include "qtool/graph/graph.h"

namespace qtool {

/// What ONNX says about an operator of its own domain at one opset.
class OperatorSchema {
 public:
  /// The first look-up in a process costs tens of milliseconds: the library builds its tables.
  OperatorSchema(const std::string& op_type, std::int64_t opset);

  [[nodiscard]] bool exists() const noexcept { return schema_ != nullptr; }
  /// The opset whose definition holds; 0 when the operator does not exist.
  [[nodiscard]] std::int64_t since() const noexcept;
  [[nodiscard]] bool has_attribute(const std::string& name) const;
  /// Whether `value`, a number or text, is what the attribute is when a node does not have it.
  [[nodiscard]] bool is_default(const std::string& name, const Attribute& value) const;

 private:
  const void* schema_ = nullptr;  // an onnx::OpSchema, which lives as long as the process
};

}  // namespace qtool
