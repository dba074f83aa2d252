#pragma once

#include <cstdint>
#include <memory>

#include "ops/recurrent/product.h"

// The products of QLSTM, QGRU and QRNN.
namespace qtool {

/// X is u8 with scale and zero point at inputs 8 and 9, W s8:
/// float(sum (x - zx)(w - zw)) * (sx * sw[column]), the sum exact.
std::unique_ptr<InputProduct> make_integer_input(const OpContext& op, const RecurrentSpec& spec);

/// Hidden states are rounded to 16 bits, each row at its own scale max|h| / 32767, so that what a
/// sequence gets does not depend on the others in the batch. Their high and low bytes are two rows
/// of one product:
/// (float(sum of high bytes) * 256 + float(sum of low bytes)) * (s * sr[column]), both sums exact.
/// A row that holds NaN or an infinity gives NaN.
std::unique_ptr<HiddenProduct> make_integer_hidden(const OpContext& op, const RecurrentSpec& spec,
                                                   std::int64_t sequences, const Range64& block);

/// The 16-bit integers of a row as two rows of bytes: q + 32768 = 256 high + low.
/// Returns the scale: 0 for rows below 1e-30, NaN for rows that are not finite. Both bytes then
/// stand for 0.
float split_row(const float* row, std::int64_t count, std::uint8_t* high, std::uint8_t* low);

}  // namespace qtool
