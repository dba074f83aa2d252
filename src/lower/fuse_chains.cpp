// Element-wise functions that exporters write as several nodes, such as GELU, SiLU and Mish, become
// one operator that reads and writes memory once.
#include <optional>
#include <utility>

#include "graph/edit.h"
#include "lower/chains.h"
#include "lower/passes.h"

namespace qtool {

void fuse_chains(ShapedGraph& shaped) {
  const ChainFinder finder(shaped);
  const std::vector<NodeId> order = shaped.graph.nodes();
  for (std::size_t i = order.size(); i-- > 0;) {
    if (is_gone(shaped.graph, order[i])) continue;
    std::optional<FoundChain> chain = finder.chain_before(order[i]);
    if (!chain || chain->nodes.size() == 1) continue;
    const NodeId last = chain->nodes.back();
    for (std::size_t k = 0; k < chain->inputs.size(); ++k) {
      shaped.graph.set_input(last, k, chain->inputs[k]);
    }
    shaped.graph.truncate_inputs(last, chain->inputs.size());
    shaped.lower_node(last, "ElementwiseChain", std::move(chain->params));
    for (const NodeId id : chain->nodes) {
      if (id != last) disconnect(shaped.graph, id);
    }
  }
}

}  // namespace qtool
