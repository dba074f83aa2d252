#include "graph/obstacles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/op_traits.h"
#include "graph/upgrade/upgrade.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {
constexpr std::size_t kMaxNamed = 30;
}

bool is_runnable(std::string_view op_type, std::string_view domain) {
  return traits_of(op_type, domain).runs || has_upgrade(op_type, domain);
}

void Obstacles::add(std::string_view op_type, std::string_view domain, std::string_view name,
                    std::string_view reason) {
  Kind& kind = kinds_[domain.empty() ? std::string(op_type) : to_text(domain, ".", op_type)];
  if (kind.nodes++ > 0) return;
  kind.first = name;
  kind.reason = reason;
}

void Obstacles::fail(const ModelInfo& model) const {
  std::vector<const std::pair<const std::string, Kind>*> order;
  for (const auto& kind : kinds_) order.push_back(&kind);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const auto* kind) { return kind->second.nodes; });
  std::string list;
  for (std::size_t i = 0; i < std::min(order.size(), kMaxNamed); ++i) {
    const auto& [op, kind] = *order[i];
    const bool one = kind.nodes == 1;
    list += to_text(list.empty() ? "" : ", ", op, " (", kind.nodes, one ? " node" : " nodes",
                    one ? " '" : ", the first is '", kind.first, "'",
                    kind.reason.empty() ? "" : ": ", kind.reason, ")");
  }
  if (order.size() > kMaxNamed) list += to_text(" and ", order.size() - kMaxNamed, " more");
  const auto opset = model.opsets.find("");
  const std::string of =
      opset == model.opsets.end() ? "" : to_text(", in a model of opset ", opset->second);
  throw Error(ErrorCode::kUnsupported,
              to_text("found operators that are not supported", of, ": ", list));
}

}  // namespace qtool
