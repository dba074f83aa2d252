// Reading any bytes gives an Error, or saved statistics from which methods can decide ranges. The
// seeds are statistics of corpus/load_onnx/conv_bn_relu.onnx on 6x6 images: 20 images in one pass,
// and 2 images in two passes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calib/decide.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const qtool::Collection collection =
        qtool::read_collection(std::string_view(reinterpret_cast<const char*>(data), size));
    for (const char* method : {"auto", "ema", "kl_ncnn"}) {
      static_cast<void>(qtool::decide(collection, method, {}));
    }
  } catch (const qtool::Error& error) {
    if (error.code() == qtool::ErrorCode::kIo) std::abort();
  }
  return 0;
}
