#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/calib/format.h"

namespace qtool {

inline constexpr std::size_t kMaxRows = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNameBytes = 4096;

/// One line of a text table, without the characters that end it.
struct TextRow {
  std::int64_t number = 0;  ///< line number, from 1
  std::string_view text;
};

/// The lines of an untrusted text table, empty ones included; a carriage return at the end of a
/// line is dropped. Throws Error(kInvalidTable) that starts with `what` for too many bytes or
/// lines.
std::vector<TextRow> text_rows(std::string_view bytes, std::string_view what);

/// Throws Error(kInvalidTable): "<what>, line <n>: found '<text>', expected <expected>".
[[noreturn]] void fail_row(const TextRow& row, std::string_view what, std::string_view found,
                           std::string_view expected);

/// A name of a text table. Throws when it is empty, too long, or holds control characters.
std::string name_in_row(const TextRow& row, std::string_view what, std::string_view name,
                        std::size_t most_bytes = kMaxNameBytes);

/// Reads a decimal number or `inf`. Throws for anything else, also for NaN.
double number_in_row(const TextRow& row, std::string_view what, std::string_view text);

/// The words of a text, which are separated by blanks and tabs.
std::vector<std::string_view> words_of(std::string_view text);
/// Whether a word is a number.
bool is_number(std::string_view word) noexcept;

/// How a format marks comments: not at all, or with '#' at the start of a line.
enum class Comments : std::uint8_t { kNone, kHash };
/// Returns a name that is to be written into a line. Throws Error(kInvalidTable) when the name is
/// empty, holds control characters, or would begin a comment.
std::string_view name_for_row(std::string_view name, std::string_view what, Comments comments);

/// A list of activations with unique names. A later row replaces an earlier row with the same name
/// and takes its position.
class ActivationList {
 public:
  explicit ActivationList(TableReadResult& result) : result_(result) {}
  void add(ActivationEntry entry);
  [[nodiscard]] ActivationEntry* find(const std::string& tensor);

 private:
  TableReadResult& result_;
  std::unordered_map<std::string, std::size_t> index_;
};

// -- symmetric int8, the only type of most tools --

/// An entry with zero point 0. The scale is taken bit for bit; the range is +-127 scale. A scale
/// that is not a normal float gives a degenerate entry with scale 1.
ActivationEntry entry_of_scale(std::string tensor, float scale);
/// An entry with zero point 0 from the largest magnitude: scale = amax / 127, range +-amax.
ActivationEntry entry_of_amax(std::string tensor, float amax);

/// The scale of a tensor as symmetric int8: its own scale if it is symmetric int8 already,
/// otherwise max(|min|, |max|) / 127 of its range.
float symmetric_scale(const ActivationEntry& entry);
/// The largest magnitude: the largest magnitude of the range if the scale agrees with it, otherwise
/// 127 times the scale. 0 for an all-zero tensor.
float threshold_of(const ActivationEntry& entry);

/// Throws Error(kUnsupported) when the activations of a table do not have 8 bits, because all
/// scales that other tools read are for 8 bits.
void require_eight_bits(const CalibrationTable& table, std::string_view what);

/// An empty table for the data of another tool: nothing is known about model, images and
/// preprocessing.
CalibrationTable foreign_table(std::string method);

}  // namespace qtool
