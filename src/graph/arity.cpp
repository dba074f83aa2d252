#include "graph/arity.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr auto kMicrosoftOperators = std::to_array<MicrosoftOperator>({
#define QTOOL_MICROSOFT(op, inputs, outputs, attributes, rule) {#op, {1, inputs, outputs}},
#include "graph/upgrade/microsoft.inc"
});
static_assert(std::ranges::is_sorted(kMicrosoftOperators, {}, &MicrosoftOperator::op_type));

// How many operands a pattern takes, for messages.
std::string expected_count(std::size_t least, std::string_view pattern, bool open) {
  if (open) return to_text("at least ", least);
  if (least == pattern.size()) return to_text(static_cast<std::int64_t>(least));
  return to_text(least, " to ", pattern.size());
}

// Describes what is wrong with the inputs or the outputs of a node; empty when nothing is wrong.
std::string refuse(std::span<const ValueId> operands, std::string_view pattern,
                   std::string_view side) {
  const bool open = !pattern.empty() && (pattern.back() == '+' || pattern.back() == '*');
  const std::size_t last_required = pattern.find_last_of("1+");
  const std::size_t least = last_required == std::string_view::npos ? 0 : last_required + 1;
  if (operands.size() < least || (!open && operands.size() > pattern.size())) {
    return to_text("found ", operands.size(), " ", side, operands.size() == 1 ? "" : "s",
                   ", expected ", expected_count(least, pattern, open));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != kNoValue || pattern[std::min(i, pattern.size() - 1)] == '?') continue;
    return to_text(side, " ", i, " has no name, expected one: the operator requires it");
  }
  return {};
}

// The arity that a node has to have; null for an unknown operator or another domain.
const Arity* arity_of(const Node& node, std::int64_t opset) {
  if (node.domain.empty()) return find_arity(node.op_type, opset);
  if (node.domain != kMicrosoftDomain) return nullptr;
  const auto row =
      std::ranges::lower_bound(kMicrosoftOperators, node.op_type, {}, &MicrosoftOperator::op_type);
  const bool known = row != kMicrosoftOperators.end() && row->op_type == node.op_type;
  return known ? &row->arity : nullptr;
}

}  // namespace

std::span<const MicrosoftOperator> microsoft_operators() noexcept { return kMicrosoftOperators; }

const Arity* find_arity(std::string_view op_type, std::int64_t opset) noexcept {
  const Arity* found = nullptr;
  for (const Arity& arity : traits_of(op_type).arity) {
    if (found == nullptr || arity.since <= opset) found = &arity;
  }
  return found;
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
                to_text(graph.describe(id), ": ", wrong, " (",
                        node.domain.empty() ? to_text("opset ", opset->second) : node.domain, ")"));
  }
}

}  // namespace qtool
