#include "quantize/targets/ops_by_target.h"

#include <algorithm>
#include <array>

namespace qtool {
namespace {

struct TargetOp {
  std::string_view op_type;
  TargetBit targets;
};

constexpr auto kTargetOps = [] {
  using enum TargetBit;
  return std::to_array<TargetOp>({
#define QTOOL_TARGET_OP(op, targets) {#op, targets},
#include "quantize/targets/ops_by_target.inc"
  });
}();
static_assert(std::ranges::is_sorted(kTargetOps, {}, &TargetOp::op_type));

}  // namespace

std::vector<std::string_view> ops_of(TargetBit targets) {
  std::vector<std::string_view> ops;
  for (const TargetOp& row : kTargetOps) {
    const unsigned common = static_cast<unsigned>(row.targets) & static_cast<unsigned>(targets);
    if (common != 0) ops.push_back(row.op_type);
  }
  return ops;
}

}  // namespace qtool
