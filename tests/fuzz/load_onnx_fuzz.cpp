// Loading any bytes gives an Error, or a model that can be written and read again unchanged;
// nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const qtool::Graph graph = qtool::load_onnx_bytes(bytes, "", "fuzz");
    const std::string saved = qtool::save_onnx_bytes(graph);
    const qtool::Graph again = qtool::load_onnx_bytes(saved, "", "again");
    if (qtool::save_onnx_bytes(again) != saved) std::abort();
    if (qtool::fingerprint(again) != qtool::fingerprint(graph)) std::abort();
  } catch (const qtool::Error&) {
  }
  return 0;
}
