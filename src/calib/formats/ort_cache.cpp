// ONNX Runtime's calibration.cache: `name amax` per line, sorted by name.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "calib/formats/rows.h"

namespace qtool {

FormatInfo format_ort_cache();

namespace {

constexpr std::string_view kOrtCacheWhat = "ONNX Runtime cache";

// The position of the number. It is the last word of the line, because names may contain blanks.
std::size_t number_at(std::string_view line) {
  const std::size_t blank = line.rfind(' ');
  return blank == std::string_view::npos ? 0 : blank + 1;
}

bool recognises_ort_cache(std::string_view bytes) {
  bool any = false;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    // A blank at the end means ncnn, three numbers mean TPU-MLIR, and a brace means JSON.
    const std::size_t at = number_at(line);
    if (at < 2 || line.starts_with('{') || line.starts_with('#')) return false;
    if (!is_number(line.substr(at)) || line.substr(0, at).find("_param_") != line.npos) {
      return false;
    }
    const auto words = words_of(line);
    if (words.size() >= 4 && is_number(words[words.size() - 2]) &&
        is_number(words[words.size() - 3])) {
      return false;
    }
    any = true;
  }
  return any;
}

TableReadResult read_ort_cache(std::string_view bytes, const TableReadOptions& /*options*/) {
  TableReadResult result;
  result.table = foreign_table("ort_cache");
  ActivationList list(result);
  for (const TextRow& row : text_rows(bytes, kOrtCacheWhat)) {
    if (trim(row.text).empty()) continue;
    const std::string_view line = trim(row.text);
    const std::size_t at = number_at(line);
    if (at < 2) fail_row(row, kOrtCacheWhat, line, "<name> <amax>");
    std::string name = name_in_row(row, kOrtCacheWhat, line.substr(0, at - 1));
    const auto amax = static_cast<float>(number_in_row(row, kOrtCacheWhat, line.substr(at)));
    if (!std::isfinite(amax)) fail_row(row, kOrtCacheWhat, line.substr(at), "a finite float32");
    if (amax < 0.0F) {
      result.notes.push_back(to_text("'", name, "' has the largest value ", amax,
                                     "; its magnitude is taken, the true range may be wider"));
    }
    list.add(entry_of_amax(std::move(name), std::abs(amax)));
  }
  if (!result.table.activations.empty()) {
    result.notes.emplace_back(
        "ONNX Runtime writes the largest value here and not the largest magnitude: the range of a "
        "tensor whose negative side is the longer one is too small (calibration.json has both)");
  }
  return result;
}

std::string write_ort_cache(const CalibrationTable& table, const TableWriteOptions& /*options*/) {
  require_eight_bits(table, kOrtCacheWhat);
  std::vector<std::string> lines;
  for (const ActivationEntry& entry : table.activations) {
    lines.push_back(to_text(name_for_row(entry.tensor, kOrtCacheWhat, Comments::kNone), " ",
                            to_text(threshold_of(entry)), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace

FormatInfo format_ort_cache() {
  FormatInfo format;
  format.name = "ort_cache";
  format.summary = "ONNX Runtime's calibration.cache: the largest magnitude per tensor, as text";
  format.extensions = {".cache"};
  format.carries = {};
  format.recognises = recognises_ort_cache;
  format.read = read_ort_cache;
  format.write = write_ort_cache;
  return format;
}

}  // namespace qtool
