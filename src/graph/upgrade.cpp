#include "graph/passes.h"
namespace qtool {
void upgrade_opset(Graph& graph) { graph.info.opsets[""] = kCanonicalOpset; }
}  // namespace qtool
