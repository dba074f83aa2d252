#pragma once

#include <cstdint>
#include <memory>

#include "ops/recurrent/product.h"

// The products of QLSTM, QGRU and QRNN.
namespace qtool {

/// X is u8, with its scale and zero point at inputs 8 and 9. W is s8. The result is
/// float(sum (x - zx)(w - zw)) * (sx * sw[column]), and the sum is exact.
std::unique_ptr<InputProduct> make_integer_input(const OpContext& op, const RecurrentSpec& spec);

/// Hidden states are rounded to 16 bits, each row at its own scale max|h| / 32767, so that the
/// result of a sequence does not depend on the other sequences of the batch. The high bytes and the
/// low bytes of a row are two rows of one product. The result is
/// (float(sum of high bytes) * 256 + float(sum of low bytes)) * (s * sr[column]), and both sums are
/// exact. A row that holds NaN or an infinity gives NaN.
std::unique_ptr<HiddenProduct> make_integer_hidden(const OpContext& op, const RecurrentSpec& spec,
                                                   std::int64_t sequences, const Range64& block);

/// Rounds a row to 16-bit integers q and splits these into two rows of bytes:
/// q + 32768 = 256 high + low. Returns the scale: 0 for rows whose magnitudes are below 1e-30, NaN
/// for rows that are not finite. Both bytes then stand for 0.
float split_row(const float* row, std::int64_t count, std::uint8_t* high, std::uint8_t* low);

}  // namespace qtool
