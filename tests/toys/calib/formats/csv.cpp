#include <cmath>

#include "base/text.h"
#include "calib/formats/rows.h"

namespace qtool {

FormatInfo format_csv();

namespace {

constexpr std::string_view kWhat = "CSV table";
constexpr std::string_view kHead = "tensor,threshold";

// After the header line, each tensor has one line `name,threshold`.
TableReadResult read(std::string_view bytes, const TableReadOptions& /*options*/) {
  TableReadResult result;
  result.table = foreign_table("csv");
  ActivationList list(result);
  for (const TextRow& row : text_rows(bytes, kWhat)) {
    const std::string_view line = trim(row.text);
    if (line.empty() || line == kHead) continue;
    const std::size_t comma = line.rfind(',');
    if (comma == std::string_view::npos) fail_row(row, kWhat, line, "<name>,<threshold>");
    const auto threshold = static_cast<float>(number_in_row(row, kWhat, line.substr(comma + 1)));
    list.add(entry_of_amax(name_in_row(row, kWhat, line.substr(0, comma)), std::abs(threshold)));
  }
  return result;
}

std::string write(const CalibrationTable& table, const TableWriteOptions& /*options*/) {
  require_eight_bits(table, kWhat);
  std::string text = to_text(kHead, "\n");
  for (const ActivationEntry& entry : table.activations) {
    text += to_text(name_for_row(entry.tensor, kWhat, Comments::kNone), ",",
                    to_text(threshold_of(entry)), "\n");
  }
  return text;
}

}  // namespace

FormatInfo format_csv() {
  FormatInfo format;
  format.name = "csv";
  format.summary = "a threshold per line";
  format.extensions = {".csv"};
  format.recognises = [](std::string_view bytes) { return bytes.starts_with(kHead); };
  format.read = read;
  format.write = write;
  return format;
}

}  // namespace qtool
