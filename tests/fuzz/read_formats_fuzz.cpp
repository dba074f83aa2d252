// In every table format, reading any bytes gives an Error or a table that can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/calib/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const qtool::FormatInfo& format : qtool::formats()) {
    static_cast<void>(format.recognises(bytes));
    try {
      const qtool::CalibrationTable table = format.read(bytes, {}).table;
      static_cast<void>(format.read(format.write(table, {}), {}));
    } catch (const qtool::Error& error) {
      if (error.code() == qtool::ErrorCode::kIo) std::abort();
    }
  }
  return 0;
}
