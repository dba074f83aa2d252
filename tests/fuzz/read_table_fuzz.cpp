// Reading any bytes gives an Error, or a table that can be written and read back unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/calib/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const qtool::CalibrationTable table =
        qtool::read_table(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!(qtool::read_table(qtool::write_table(table)) == table)) std::abort();
  } catch (const qtool::Error& error) {
    if (error.code() == qtool::ErrorCode::kIo) std::abort();
  }
  return 0;
}
