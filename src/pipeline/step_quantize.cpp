#include "pipeline/making.h"
#include "qtool/exec/executor.h"

namespace qtool {

bool wants_quantize(const Recipe& /*recipe*/) { return true; }

/// Emits the model; see quantize(). It holds the nodes that the executor leaves out, too.
void step_quantize(Making& making) {
  making.int8 = quantize(making.fp32.whole_graph(), making.inputs);
}

}  // namespace qtool
