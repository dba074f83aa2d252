#include "graph/op_traits.h"

#include <algorithm>
#include <array>

namespace qtool {
namespace {

constexpr auto kTraits = std::to_array<OpTraits>({
#define QTOOL_OP(name, ...) {.op_type = #name, .runs = true __VA_OPT__(, ) __VA_ARGS__},
#define QTOOL_OTHER_OP(name, ...) {.op_type = #name __VA_OPT__(, ) __VA_ARGS__},
#include "graph/operators.inc"
});
static_assert(std::ranges::is_sorted(kTraits, {}, &OpTraits::op_type));
static_assert(std::ranges::all_of(kTraits, [](const OpTraits& traits) {
  return std::ranges::is_sorted(traits.arity, {}, &Arity::since);
}));

constexpr OpTraits kUnknown;

}  // namespace

std::span<const OpTraits> all_op_traits() noexcept { return kTraits; }

const OpTraits& traits_of(std::string_view op_type, std::string_view domain) noexcept {
  if (!domain.empty()) return kUnknown;
  const auto row = std::ranges::lower_bound(kTraits, op_type, {}, &OpTraits::op_type);
  return row != kTraits.end() && row->op_type == op_type ? *row : kUnknown;
}

bool only_moves(const Node& node) {
  if (node.is("Resize")) return node.get_string("mode", "nearest") == "nearest";
  return traits_of(node).kind == OpKind::kMoving;
}

std::optional<std::int64_t> weight_axis(const Node& node) {
  switch (traits_of(node).weights) {
    case WeightAxis::kNone:
      return std::nullopt;
    case WeightAxis::kFirst:
      return 0;
    case WeightAxis::kSecond:
      return 1;
    case WeightAxis::kByTransB:
      return node.get_int("transB", 0) != 0 ? 0 : 1;
  }
  return std::nullopt;
}

}  // namespace qtool
