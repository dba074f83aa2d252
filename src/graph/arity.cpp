#include "graph/arity.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr auto kArities = std::to_array<Arity>({
#define QTOOL_ARITY(op, since, inputs, outputs) {#op, since, inputs, outputs},
#include "graph/arity.inc"
});

constexpr auto kMicrosoftRows = std::to_array<Arity>({
#define QTOOL_MICROSOFT(op, inputs, outputs, attributes, rule) {#op, 1, inputs, outputs},
#include "graph/upgrade/microsoft.inc"
});

constexpr bool comes_before(const Arity& a, const Arity& b) {
  return a.op_type != b.op_type ? a.op_type < b.op_type : a.since < b.since;
}
static_assert(std::is_sorted(kArities.begin(), kArities.end(), comes_before));
static_assert(std::is_sorted(kMicrosoftRows.begin(), kMicrosoftRows.end(), comes_before));

// How many operands a pattern takes, for messages.
std::string expected_count(std::size_t least, std::string_view pattern, bool open) {
  if (open) return concat("at least ", least);
  if (least == pattern.size()) return to_text(static_cast<std::int64_t>(least));
  return concat(least, " to ", pattern.size());
}

// Describes what is wrong with the inputs or the outputs of a node; empty when nothing is wrong.
std::string refuse(std::span<const ValueId> operands, std::string_view pattern,
                   std::string_view side) {
  const bool open = !pattern.empty() && (pattern.back() == '+' || pattern.back() == '*');
  const std::size_t last_required = pattern.find_last_of("1+");
  const std::size_t least = last_required == std::string_view::npos ? 0 : last_required + 1;
  if (operands.size() < least || (!open && operands.size() > pattern.size())) {
    return concat("found ", operands.size(), " ", side, operands.size() == 1 ? "" : "s",
                  ", expected ", expected_count(least, pattern, open));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != kNoValue || pattern[std::min(i, pattern.size() - 1)] == '?') continue;
    return concat(side, " ", i, " has no name, expected one: the operator requires it");
  }
  return {};
}

// The row that a node has to follow; null for an unknown operator or another domain.
const Arity* arity_of(const Node& node, std::int64_t opset) {
  if (node.domain.empty()) return find_arity(node.op_type, opset);
  if (node.domain != kMicrosoftDomain) return nullptr;
  const auto row = std::ranges::lower_bound(kMicrosoftRows, node.op_type, {}, &Arity::op_type);
  return row != kMicrosoftRows.end() && row->op_type == node.op_type ? &*row : nullptr;
}

}  // namespace

std::span<const Arity> arities() noexcept { return kArities; }

std::span<const Arity> microsoft_arities() noexcept { return kMicrosoftRows; }

const Arity* find_arity(std::string_view op_type, std::int64_t opset) noexcept {
  const auto after = std::upper_bound(kArities.begin(), kArities.end(),
                                      Arity{op_type, opset, {}, {}}, comes_before);
  if (after != kArities.begin() && std::prev(after)->op_type == op_type) return &*std::prev(after);
  return after != kArities.end() && after->op_type == op_type ? &*after : nullptr;
}

void require_operands(const Graph& graph) {
  const auto opset = graph.info.opsets.find("");
  if (opset == graph.info.opsets.end()) return;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const Arity* arity = arity_of(node, opset->second);
    if (arity == nullptr) continue;
    const auto inputs = std::span(node.inputs).first(node.own_inputs());
    std::string wrong = refuse(inputs, arity->inputs, "input");
    if (wrong.empty()) wrong = refuse(node.outputs, arity->outputs, "output");
    if (wrong.empty()) continue;
    throw Error(ErrorCode::kInvalidModel,
                concat(graph.describe(id), ": ", wrong, " (",
                       node.domain.empty() ? concat("opset ", opset->second) : node.domain, ")"));
  }
}

}  // namespace qtool
