// Any bytes are a model that can be prepared, written and read again, or one Error; nothing else
// may happen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/exec/prepare.h"
#include "qtool/graph/onnx.h"

namespace {

// Zeros through the model, open extents 2, unless it would be large.
void run(qtool::Graph graph) {
  constexpr std::int64_t kMostElements = 1 << 14;
  qtool::InputShapes shapes;
  for (const qtool::ValueId id : graph.inputs()) {
    const qtool::Value& input = graph.value(id);
    std::vector<std::int64_t> dims;
    for (const qtool::Dim& dim : input.shape.value_or(std::vector<qtool::Dim>())) {
      dims.push_back(dim.size.value_or(2));
      if (dims.back() > kMostElements) return;
    }
    qtool::Shape shape(dims);
    if (shape.elements() > kMostElements) return;
    shapes.emplace(input.name, std::move(shape));
  }
  const qtool::Executor executor(std::move(graph));
  const auto plan = executor.compile(shapes);
  if (plan->arena_bytes() > (std::int64_t{1} << 24)) return;
  std::vector<qtool::Tensor> tensors;
  for (const qtool::PortInfo& port : plan->inputs()) tensors.emplace_back(port.dtype, port.shape);
  const std::vector<qtool::TensorView> views(tensors.begin(), tensors.end());
  qtool::Workspace workspace;
  plan->run(views, workspace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const qtool::Graph graph = qtool::load_onnx_bytes(bytes, "", "fuzz");
    const std::string saved = qtool::save_onnx_bytes(graph);
    const qtool::Graph again = qtool::load_onnx_bytes(saved, "", "again");
    if (qtool::save_onnx_bytes(again) != saved) std::abort();
    if (qtool::fingerprint(again) != qtool::fingerprint(graph)) std::abort();
    qtool::Graph prepared = qtool::prepare(graph);
    prepared.check();
    run(std::move(prepared));
  } catch (const qtool::Error&) {
  }
  return 0;
}
