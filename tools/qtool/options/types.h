#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool::tool {

/// Types of the quantized model: --weight-method, --weight-bits, --weight-granularity,
/// --weight-symmetry, --winograd-bits, --weight-pairs, --activations, --symmetric,
/// --activation-bits.
class TypeOptions {
 public:
  void add_to(Command& command);
  /// The types that the flags set. Throws Error(kUsage) for an unknown weight method.
  [[nodiscard]] TypeChoices choices() const;
  /// Refuses options that have no effect on a model with these nodes.
  static void require_effect(const Command& command, const Graph& prepared,
                             const std::string& model);

 private:
  std::string weight_method_;
  std::optional<int> weight_bits_;
  std::string weight_granularity_;
  std::string weight_symmetry_;
  std::optional<int> winograd_bits_;
  std::string weight_pairs_;
  std::string activations_;
  bool symmetric_ = false;
  std::optional<int> activation_bits_;
};

}  // namespace qtool::tool
