// TensorRT's calibration cache: a header line, then `name: <bits of the float32 scale>`.
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "calib/formats/rows.h"

namespace qtool {

FormatInfo format_tensorrt();

namespace {

constexpr std::string_view kTensorrtWhat = "TensorRT cache";
constexpr std::string_view kPrefix = "TRT-";
constexpr std::string_view kSeparator = ": ";
constexpr std::array<std::string_view, 4> kAlgorithms = {
    "EntropyCalibration", "EntropyCalibration2", "LegacyCalibration", "MinMaxCalibration"};
constexpr std::size_t kMaxVersionDigits = 9;
constexpr std::size_t kHexDigits = 8;

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kMaxVersionDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Header {
  std::string_view version;
  std::string_view algorithm;
};

std::optional<Header> header_of(std::string_view line) {
  if (!line.starts_with(kPrefix)) return std::nullopt;
  line.remove_prefix(kPrefix.size());
  const std::size_t dash = line.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const Header header{line.substr(0, dash), line.substr(dash + 1)};
  const bool known =
      std::find(kAlgorithms.begin(), kAlgorithms.end(), header.algorithm) != kAlgorithms.end();
  return known && is_version(header.version) ? std::optional(header) : std::nullopt;
}

float scale_in(const TextRow& row, std::string_view digits) {
  std::uint32_t bits = 0;
  for (const char c : digits) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t digit = std::string_view("0123456789abcdef").find(lower);
    if (digit == std::string_view::npos || digits.size() > kHexDigits) {
      fail_row(row, kTensorrtWhat, digits, "8 hexadecimal digits");
    }
    bits = bits << 4U | static_cast<std::uint32_t>(digit);
  }
  const auto scale = std::bit_cast<float>(bits);
  if (digits.empty() || !std::isfinite(scale) || std::signbit(scale)) {
    fail_row(row, kTensorrtWhat, digits, "the bits of a finite float32 not below 0");
  }
  return scale;
}

std::string hex_of(float scale) {
  return to_hex(std::bit_cast<std::uint32_t>(scale)).substr(kHexDigits);
}

TableReadResult read_tensorrt(std::string_view bytes, const TableReadOptions& /*options*/) {
  const std::vector<TextRow> rows = text_rows(bytes, kTensorrtWhat);
  const TextRow first = rows.empty() ? TextRow{1, {}} : rows.front();
  if (!header_of(trim(first.text))) {
    fail_row(first, kTensorrtWhat, first.text,
             "TRT-<version>-<algorithm> with EntropyCalibration2, EntropyCalibration, "
             "MinMaxCalibration or LegacyCalibration");
  }
  TableReadResult result;
  // The header is kept as the method, so that the writer can restore it.
  result.table = foreign_table(std::string(trim(first.text)));
  ActivationList list(result);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const TextRow& row = rows[i];
    if (trim(row.text).empty()) continue;
    // Takes the last separator, because names may contain colons and blanks.
    const std::size_t split_at = row.text.rfind(kSeparator);
    if (split_at == std::string_view::npos)
      fail_row(row, kTensorrtWhat, row.text, "<name>: <8 digits>");
    std::string name = name_in_row(row, kTensorrtWhat, row.text.substr(0, split_at));
    const float scale = scale_in(row, trim(row.text.substr(split_at + kSeparator.size())));
    ActivationEntry entry = entry_of_scale(std::move(name), scale);
    if (entry.degenerate != Degenerate::kNo) {
      result.notes.push_back(
          to_text("'", entry.tensor, "' has the scale ", scale, "; 1 takes its place"));
    }
    list.add(std::move(entry));
  }
  return result;
}

std::string write_tensorrt(const CalibrationTable& table, const TableWriteOptions& options) {
  require_eight_bits(table, kTensorrtWhat);
  const Header header = header_of(table.method).value_or(Header{"8600", "EntropyCalibration2"});
  const std::string version = options.tensorrt_version.value_or(std::string(header.version));
  const std::string algorithm = options.tensorrt_algorithm.value_or(std::string(header.algorithm));
  if (!is_version(version)) {
    throw Error(ErrorCode::kUsage,
                to_text("TensorRT version: found '", version, "', expected digits such as 8600"));
  }
  if (std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm) == kAlgorithms.end()) {
    std::string known;
    for (const std::string_view name : kAlgorithms)
      known += to_text(known.empty() ? "" : ", ", name);
    throw Error(ErrorCode::kUsage,
                to_text("TensorRT algorithm: found '", algorithm, "', expected one of: ", known));
  }
  std::string out = to_text(kPrefix, version, "-", algorithm, "\n");
  for (const ActivationEntry& entry : table.activations) {
    out += to_text(name_for_row(entry.tensor, kTensorrtWhat, Comments::kNone), kSeparator,
                   hex_of(symmetric_scale(entry)), "\n");
  }
  return out;
}

}  // namespace

FormatInfo format_tensorrt() {
  FormatInfo format;
  format.name = "tensorrt";
  format.summary = "TensorRT's calibration cache: the bits of a symmetric int8 scale per tensor";
  format.extensions = {".cache", ".calib"};
  format.carries = {};
  format.recognises = [](std::string_view bytes) { return bytes.starts_with(kPrefix); };
  format.read = read_tensorrt;
  format.write = write_tensorrt;
  return format;
}

}  // namespace qtool
