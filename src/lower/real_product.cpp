#include "lower/real_product.h"

#include <algorithm>
#include <string>
#include <variant>

namespace qtool {

std::optional<NodeId> real_product(const ShapedGraph& shaped, ValueId id,
                                   const std::vector<NodeId>& readers) {
  const Graph& graph = shaped.graph;
  const NodeId producer = graph.value(id).producer;
  if (producer == kNoNode || graph.is_output(id)) return std::nullopt;
  const std::string& op_type = graph.node(producer).op_type;
  if (op_type != "QConv" && op_type != "QGemm") return std::nullopt;
  const auto* params = std::get_if<QProductParams>(&shaped.lowered(producer).params);
  if (params == nullptr || params->result) return std::nullopt;
  const bool ours = std::ranges::all_of(graph.consumers(id), [&](NodeId reader) {
    return std::ranges::find(readers, reader) != readers.end();
  });
  return ours ? std::optional(producer) : std::nullopt;
}

}  // namespace qtool
