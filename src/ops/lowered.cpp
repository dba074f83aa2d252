#include "ops/lowered.h"

#include "qtool/base/text.h"

namespace qtool {

void set_affine(Graph& graph, NodeId id, std::string_view prefix, const Affine& affine) {
  graph.attributes(id)[concat(prefix, "_scale")] = affine.scale;
  graph.attributes(id)[concat(prefix, "_zero_point")] =
      static_cast<std::int64_t>(affine.zero_point);
}

Affine get_affine(const Node& node, std::string_view prefix) {
  return {node.get_float(concat(prefix, "_scale"), 1.0F),
          static_cast<std::int32_t>(node.get_int(concat(prefix, "_zero_point"), 0))};
}

}  // namespace qtool
