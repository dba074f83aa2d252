#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/command.h"
#include "qtool/calib/overrides.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool::tool {

/// Adds --target NAME.
void add_target(Command& command, std::string& target);

/// Types of the quantized model: --weight-method, --weight-bits, --weight-granularity,
/// --weight-symmetry, --winograd-bits, --activations, --symmetric, --activation-bits.
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
  std::string activations_;
  bool symmetric_ = false;
  std::optional<int> activation_bits_;
};

/// Rewrites before quantizing: --equalize.
class RewriteOptions {
 public:
  /// `fallback`: the default, as text for the description of the flag.
  void add_to(Command& command, const std::string& fallback);
  /// The rewrites that the flag asks for; nothing without it.
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

 private:
  std::string equalize_;
};

/// Whether a command makes a model or only a table. A table does not record wide tensors.
enum class OverrideUse { kTable, kModel };

/// Ranges, scales and exclusions from the user: --exclude, --range, --scale, --overrides; for a
/// model also --wide.
class OverrideOptions {
 public:
  void add_to(Command& command, OverrideUse use);
  /// The entries of the file, then the entries of the flags. Throws Error(kUsage) for a malformed
  /// flag, and Error(kInvalidArgument) for a malformed file.
  [[nodiscard]] Overrides read() const;

 private:
  std::vector<std::string> exclude_;
  std::vector<std::string> ranges_;
  std::vector<std::string> scales_;
  std::vector<std::string> wide_;
  std::string file_;
};

}  // namespace qtool::tool
