#include "base/stop.h"
#include "pipeline/making.h"
#include "qtool/exec/executor.h"

namespace qtool {

bool wants_quantize(const Recipe& /*recipe*/) { return true; }

/// Emits the model; see quantize(). It can be stopped while it infers shapes.
void step_quantize(Making& making) {
  const StopScope scope(making.options.stop);
  making.int8 = quantize(making.fp32.whole_graph(), making.inputs);
}

}  // namespace qtool
