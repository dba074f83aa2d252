#pragma once

#include <string>

#include "cli/command.h"
#include "model.h"
#include "qtool/quant/affine.h"

namespace qtool::tool {

/// How the integer sums of an INT8 model are requantized to bytes: --requantize.
struct RequantizeOption {
  std::string name = "float";

  void add_to(Command& command);
  /// Refuses the option when no model requantizes sums.
  static void require_effect(const Command& command, const Models& models);
  /// Throws Error(kUsage) for an unknown name.
  [[nodiscard]] Requantization path() const;
};

}  // namespace qtool::tool
