#include <cstdint>

#include "kernels/add/contract.h"

namespace qtool {
namespace {

void run(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float sum = static_cast<float>(a[i] - params.za) * params.ra +
                      static_cast<float>(b[i] - params.zb) * params.rb;
    const auto q = static_cast<std::int32_t>(__builtin_rintf(sum)) + params.zy;
    out[i] = static_cast<std::uint8_t>(q < params.low    ? params.low
                                       : q > params.high ? params.high
                                                         : q);
  }
}

}  // namespace

constexpr AddFunctions add_toy = {run};

}  // namespace qtool
