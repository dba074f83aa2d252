#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qtool {

/// Columns of text for people: a heading, rows, each column as wide as its widest cell.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  explicit TextTable(std::vector<std::string> heading, std::vector<Align> alignment = {});

  /// Throws Error(kInvalidArgument) when the number of cells differs from the heading's.
  void add(std::vector<std::string> cells);
  /// The lines, each ended by a line feed and without trailing blanks; a cell counts one column
  /// per UTF-8 character.
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;  // the heading first
};

}  // namespace qtool
