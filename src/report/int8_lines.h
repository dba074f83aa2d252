#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "compare/intervals.h"
#include "qtool/compare/infer.h"

// Parts of the texts about an FP32 model and, where there is one, its INT8 model.
namespace qtool {

/// Adds the cells of the INT8 model to a row.
template <typename Cell>
void add_int8_columns(std::vector<Cell>& row, const std::vector<std::type_identity_t<Cell>>& cells,
                      bool has_int8) {
  if (has_int8) row.insert(row.end(), cells.begin(), cells.end());
}

/// The line that names the path of requantization; empty for the default path.
inline std::string requantization_line(Requantization path) {
  if (path == Requantization::kFloat) return {};
  return to_text("requantization: ", name_of(path),
                 ", integers only except for functions inside convolutions\n");
}

/// One line for each output of the two models, with the intervals of its SQNR; `noun`: the word for
/// a sample.
inline std::string output_lines(const std::vector<OutputError>& outputs, std::int64_t images,
                                std::string_view noun) {
  std::string text;
  for (const OutputError& output : outputs) {
    if (std::isnan(output.sqnr_db)) {
      text +=
          to_text("output '", printable(output.name), "': no ", noun, " that both models answer\n");
      continue;
    }
    text +=
        to_text("output '", printable(output.name), "': SQNR ", to_fixed(output.sqnr_db, 2), " dB");
    if (images > 1) {
      const std::string mean = fixed_interval(output.sqnr_interval, 2);
      const std::string pooled = fixed_interval(output.pooled_interval, 2);
      text += to_text(" (mean of the ", noun, "s", mean.empty() ? "" : ", ", mean, "; pooled ",
                      to_fixed(output.pooled_sqnr_db, 2), pooled.empty() ? "" : ", ", pooled,
                      "; lowest ", to_fixed(output.lowest_sqnr_db, 2), " in '",
                      printable(output.lowest_sqnr_image.string()), "')");
    }
    if (output.psnr_db) text += to_text(", PSNR ", to_fixed(*output.psnr_db, 2), " dB");
    text += to_text(", cosine ", to_fixed(output.cosine, 6), ", largest error ",
                    to_fixed(output.max_abs_error, 5), "\n");
  }
  return text;
}

}  // namespace qtool
