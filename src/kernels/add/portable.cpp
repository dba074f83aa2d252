#include <cstdint>

#include "kernels/add/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

// An operand has only 256 possible values, so its products are looked up in a table.
void run_add(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b,
             std::uint8_t* out, std::int64_t count) {
  float from_a[256];
  float from_b[256];
  for (std::int32_t q = 0; q < 256; ++q) {
    from_a[q] = static_cast<float>(q - params.za) * params.ra;
    from_b[q] = static_cast<float>(q - params.zb) * params.rb;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = round_to_u8(from_a[a[i]] + from_b[b[i]], params.zy, params.low, params.high);
  }
}

}  // namespace

constexpr AddFunctions add_portable = {run_add};

}  // namespace qtool
