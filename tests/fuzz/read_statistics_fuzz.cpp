// Any bytes are saved statistics that every method can decide from, or one Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/calib/calibrate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const qtool::Collection collection =
        qtool::read_collection(std::string_view(reinterpret_cast<const char*>(data), size));
    for (const char* method : {"minmax", "percentile", "ema", "kl_ncnn"}) {
      static_cast<void>(qtool::decide(collection, method, {}));
    }
  } catch (const qtool::Error& error) {
    if (error.code() == qtool::ErrorCode::kIo) std::abort();
  }
  return 0;
}
