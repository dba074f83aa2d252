#include "qtool/quantize/target.h"

#include <algorithm>
#include <string>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {

#define QTOOL_TARGET(name) Target target_##name();
#include "quantize/targets.inc"

const TargetOp* Target::find_op(std::string_view op_type) const noexcept {
  const auto row = std::find_if(ops.begin(), ops.end(),
                                [&](const TargetOp& op) { return op.op_type == op_type; });
  return row == ops.end() ? nullptr : &*row;
}

bool Target::fuses(std::string_view producer, std::string_view activation) const noexcept {
  const auto lists = [](const std::vector<std::string_view>& names, std::string_view wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  return lists(fusing_producers, producer) && lists(fused_activations, activation);
}

std::span<const Target> targets() {
  static const std::vector<Target> all = {
#define QTOOL_TARGET(name) target_##name(),
#include "quantize/targets.inc"
  };
  return all;
}

const Target& find_target(std::string_view name) {
  std::vector<std::string> names;
  for (const Target& target : targets()) {
    if (target.name == name) return target;
    names.emplace_back(target.name);
  }
  std::string message = concat("target '", name, "' is unknown; nearest:");
  for (const std::string& near : nearest_names(name, names)) message += concat(" '", near, "'");
  throw Error(ErrorCode::kUsage, message);
}

}  // namespace qtool
