#pragma once

#include <cstdint>
#include <string>

#include "qtool/graph/graph.h"

namespace qtool {

/// The definition of an operator of ONNX's own domain at one opset.
class OperatorSchema {
 public:
  /// The first look-up in a process costs tens of milliseconds: the library builds its tables.
  OperatorSchema(const std::string& op_type, std::int64_t opset);

  [[nodiscard]] bool exists() const noexcept { return schema_ != nullptr; }
  /// The opset that introduced the definition in force; 0 when the operator does not exist.
  [[nodiscard]] std::int64_t since() const noexcept;
  [[nodiscard]] bool has_attribute(const std::string& name) const;
  /// Whether `value`, a number or text, is the default value of the attribute.
  [[nodiscard]] bool is_default(const std::string& name, const Attribute& value) const;

 private:
  const void* schema_ = nullptr;  // an onnx::OpSchema, which lives as long as the process
};

}  // namespace qtool
