#include "calib/formats/rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace qtool {
namespace {

constexpr std::size_t kMaxQuoted = 60;
constexpr float kSignedLevels = 127.0F;
constexpr Scheme kSymmetricInt8{DType::kInt8, 8, Symmetry::kSymmetric};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The text in a printable and short form, for messages.
std::string quoted(std::string_view text) {
  std::string out(text.substr(0, kMaxQuoted));
  for (char& c : out) {
    if (is_control(c) || static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return to_text("'", out, text.size() > kMaxQuoted ? "..." : "", "'");
}

std::optional<double> to_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (stop != end || code != std::errc() || std::isnan(value)) return std::nullopt;
  return value;
}

}  // namespace

std::vector<TextRow> text_rows(std::string_view bytes, std::string_view what) {
  if (static_cast<std::int64_t>(bytes.size()) > kMaxTableBytes) {
    throw Error(ErrorCode::kInvalidTable, to_text(what, ": found ", bytes.size(),
                                                  " bytes, expected at most ", kMaxTableBytes));
  }
  std::vector<TextRow> rows;
  while (!bytes.empty()) {
    if (rows.size() == kMaxRows) {
      throw Error(ErrorCode::kInvalidTable,
                  to_text(what, ": found more than ", kMaxRows, " lines"));
    }
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rows.push_back({static_cast<std::int64_t>(rows.size()) + 1, line});
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return rows;
}

void fail_row(const TextRow& row, std::string_view what, std::string_view found,
              std::string_view expected) {
  throw Error(ErrorCode::kInvalidTable, to_text(what, ", line ", row.number, ": found ",
                                                quoted(found), ", expected ", expected));
}

std::string name_in_row(const TextRow& row, std::string_view what, std::string_view name,
                        std::size_t most_bytes) {
  if (name.empty() || name.size() > most_bytes ||
      std::any_of(name.begin(), name.end(), is_control)) {
    fail_row(row, what, name, to_text("a printable name of 1 to ", most_bytes, " bytes"));
  }
  return std::string(name);
}

double number_in_row(const TextRow& row, std::string_view what, std::string_view text) {
  const std::optional<double> value = to_number(text);
  if (!value) fail_row(row, what, text, "a number");
  return *value;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) return words;
    const std::size_t start = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    words.push_back(text.substr(start, at - start));
  }
}

bool is_number(std::string_view word) noexcept { return to_number(word).has_value(); }

std::string_view name_for_row(std::string_view name, std::string_view what, Comments comments) {
  const bool hidden = comments == Comments::kHash && name.starts_with('#');
  if (name.empty() || hidden || std::any_of(name.begin(), name.end(), is_control)) {
    throw Error(ErrorCode::kInvalidTable,
                to_text(what, ": found the name ", quoted(name), ", expected a printable one",
                        comments == Comments::kHash ? " without '#' in front" : ""));
  }
  return name;
}

void ActivationList::add(ActivationEntry entry) {
  const auto [it, fresh] = index_.try_emplace(entry.tensor, result_.table.activations.size());
  if (fresh) {
    result_.table.activations.push_back(std::move(entry));
    return;
  }
  result_.notes.push_back(to_text("'", entry.tensor, "' occurs twice; the last row counts"));
  result_.table.activations[it->second] = std::move(entry);
}

ActivationEntry* ActivationList::find(const std::string& tensor) {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &result_.table.activations[found->second];
}

ActivationEntry entry_of_scale(std::string tensor, float scale) {
  ActivationEntry entry;
  entry.tensor = std::move(tensor);
  entry.dtype = DType::kInt8;
  const float limit = scale * kSignedLevels;
  if (scale < std::numeric_limits<float>::min() || !std::isfinite(limit)) {
    entry.degenerate = scale == 0.0F ? Degenerate::kAllZero : Degenerate::kTooSmall;
    return entry;
  }
  entry.affine.scale = scale;
  entry.range = {-limit, limit};
  return entry;
}

ActivationEntry entry_of_amax(std::string tensor, float amax) {
  ActivationEntry entry = entry_of_scale(std::move(tensor), amax / kSignedLevels);
  if (entry.degenerate == Degenerate::kNo) entry.range = {-amax, amax};
  return entry;
}

float symmetric_scale(const ActivationEntry& entry) {
  if (entry.dtype == DType::kInt8 && entry.affine.zero_point == 0) return entry.affine.scale;
  return choose_affine(entry.range, kSymmetricInt8).scale;
}

float threshold_of(const ActivationEntry& entry) {
  if (entry.degenerate == Degenerate::kAllZero) return 0.0F;
  const float scale = symmetric_scale(entry);
  const float limit = std::max(-entry.range.min, entry.range.max);
  // The range is more precise than the scale, because it is not divided by 127.
  return std::abs(limit / kSignedLevels - scale) <= 1e-6F * scale ? limit : scale * kSignedLevels;
}

void require_eight_bits(const CalibrationTable& table, std::string_view what) {
  const int bits = table.method_options.scheme.bits;
  if (bits == 8) return;
  throw Error(ErrorCode::kUnsupported,
              to_text(what, ": found activations of ", bits, " bits in the table, expected 8"));
}

CalibrationTable foreign_table(std::string method) {
  CalibrationTable table;
  table.method = std::move(method);
  table.method_options.scheme = kSymmetricInt8;
  return table;
}

}  // namespace qtool
