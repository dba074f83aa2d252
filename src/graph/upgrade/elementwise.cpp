// Arithmetic and comparisons.
#include <algorithm>
#include <array>
#include <utility>

#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

// Appends `count` axes of extent 1 to an input.
void append_axes(Upgrade& up, std::size_t index, std::int64_t rank, std::int64_t count) {
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < count; ++i) axes.push_back(rank + i);
  if (const Tensor* constant = up.constant(index)) {
    std::vector<std::int64_t> dims = constant->shape().dims();
    dims.resize(dims.size() + axes.size(), 1);
    up.set_input(index, up.add_constant("operand", constant->clone().reshaped(Shape(dims))));
    return;
  }
  const ValueId list = up.add_ints("axes", axes);
  up.set_input(index, up.before("Unsqueeze", {up.input(index), list}, "operand"));
}

bool is_single(const Tensor* tensor) { return tensor != nullptr && tensor->elements() == 1; }

}  // namespace

// Before opset 7 the second operand was broadcast only when the attribute `broadcast` was set, and
// its axes were aligned from `axis` on instead of at the end.
void upgrade_legacy_broadcast(Upgrade& up) {
  if (up.from() >= 7) return;
  const bool stretch = up.take_int("broadcast").value_or(0) != 0;
  const std::optional<std::int64_t> axis = up.take_int("axis");
  if (!stretch || !axis || is_single(up.constant(1))) return;
  const std::int64_t rank = up.require_rank(0);
  const std::int64_t operand_rank = up.require_rank(1);
  const std::int64_t first = up.plain_axes({*axis}, rank)[0];
  const std::int64_t missing = rank - first - operand_rank;
  if (missing < 0) up.fail("the second operand has too many axes");
  if (missing > 0) append_axes(up, 1, operand_rank, missing);
}

// Before opset 7 a slope tensor with one axis held one slope per channel.
void upgrade_prelu(Upgrade& up) {
  if (up.from() >= 7 || is_single(up.constant(1))) return;
  const std::int64_t rank = up.require_rank(0);
  if (up.require_rank(1) == 1 && rank > 2) append_axes(up, 1, 1, rank - 2);
}

void upgrade_clip(Upgrade& up) {
  if (up.from() >= 11) return;
  const std::optional<float> low = up.take_float("min");
  const std::optional<float> high = up.take_float("max");
  if (low) up.set_input(1, up.add_constant("min", Tensor::scalar(*low)));
  if (high) up.set_input(2, up.add_constant("max", Tensor::scalar(*high)));
}

void upgrade_cast(Upgrade& up) {
  if (up.from() < 6) {
    constexpr auto kNames = std::to_array<std::string_view>(
        {"UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING",
         "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64"});
    const std::string name = up.take_string("to").value_or("");
    const auto found = std::find(kNames.begin() + 1, kNames.end(), name);
    if (found == kNames.end()) up.fail("attribute 'to' names no type");
    up.attributes()["to"] = std::int64_t{found - kNames.begin()};
  }
  if (up.from() > kCanonicalOpset) {
    up.drop("saturate");  // matters for eight-bit floats only
    up.drop("round_mode");
  }
}

}  // namespace qtool
