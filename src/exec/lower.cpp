#include "exec/lower.h"

namespace qtool {

void lower(ShapedGraph& shaped, const CompileOptions& options) {
  if (options.lowering == Lowering::kInteger) {
    lower_integer(shaped, options);
    shaped.graph.remove_dead_nodes();
  }
  fold_all_constants(shaped);
  if (options.lowering == Lowering::kInteger) fuse_float(shaped, options.observe);
  shaped.graph.remove_dead_nodes();
  infer_missing(shaped);
  shaped.graph.check();
}

}  // namespace qtool
