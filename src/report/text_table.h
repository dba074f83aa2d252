#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// As many columns as a text takes: for files and pipes.
inline constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

/// Columns of a terminal that one line takes: one for each UTF-8 character.
std::size_t columns_of(std::string_view line);

/// Columns of text for people: a heading, rows, each column as wide as its widest cell.
class TextTable {
 public:
  enum class Kind : std::uint8_t {
    kName,    ///< aligned left; the middle of a long one is left out to make the table fit
    kText,    ///< aligned left, never shortened
    kNumber,  ///< aligned right, never shortened
  };
  struct Column {
    std::string heading;
    Kind kind = Kind::kName;
    /// Columns are left out to make the table fit: those of the least worth first, and of equal
    /// ones the last.
    int worth = 9;
  };

  explicit TextTable(std::vector<Column> columns);

  /// Throws Error(kInvalidArgument) when the number of cells differs from the heading's.
  void add(std::vector<std::string> cells);
  /// The lines, each ended by a line feed and without trailing blanks. No line is longer than
  /// `width`, so that no terminal breaks a row: names are shortened first, then columns left out,
  /// all but the first one.
  [[nodiscard]] std::string to_string(std::size_t width = kAnyWidth) const;

 private:
  struct Shown {
    std::size_t column;
    std::size_t width;
  };
  [[nodiscard]] std::vector<Shown> fitted(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the heading first
};

}  // namespace qtool
