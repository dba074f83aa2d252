// Any model is prepared, compiled and run (lowered to integers, or node by node as the
// specification says), or an Error says why not. `prepare` returns a valid graph.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "small_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const qtool::StopCheck stop = qtool::fuzz::stop_soon();
    qtool::Graph graph = qtool::prepare(qtool::load_onnx_bytes(bytes, "", "fuzz"), stop);
    graph.check();
    const qtool::InputShapes shapes = qtool::fuzz::closed_shapes(graph);
    // Runs each model in only one of the two ways, so that most of the time goes into new models.
    qtool::CompileOptions options;
    if (graph.info.model_version % 4 == 3) options.lowering = qtool::Lowering::kReference;
    const qtool::Executor executor(std::move(graph), stop);
    qtool::fuzz::run_small(executor, shapes, options);
  } catch (const qtool::Error&) {
  }
  return 0;
}
