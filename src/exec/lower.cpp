#include "exec/lower.h"

#include "base/stop.h"

namespace qtool {

void lower(ShapedGraph& shaped, const CompileOptions& options, const StopCheck& stop) {
  if (options.lowering == Lowering::kInteger) {
    lower_integer(shaped, options, stop);
    shaped.graph.remove_dead_nodes();
  }
  fold_all_constants(shaped, stop);
  if (options.lowering == Lowering::kInteger) fuse_float(shaped);
  check_stop(stop);
  shaped.graph.remove_dead_nodes();
  infer_missing(shaped);
  shaped.graph.check();
}

}  // namespace qtool
