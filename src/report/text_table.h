#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

// Of all results in this room: text_of() gives text for people, which ends with a line feed.
// json_of() gives JSON for programs, with two-space indentation and a fixed order of keys. A number
// that is not finite becomes null. Shares lie in [0, 1], and times are in seconds unless the key
// says otherwise. Tables in a text are made to fit into `width` columns; other lines may be longer.
namespace qtool {

/// No limit on the number of columns, for files and pipes.
inline constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

/// The number of terminal columns that one line takes: one for each UTF-8 character.
std::size_t columns_of(std::string_view line);

/// Whether a list in a text may be shortened. The text says that it was, and how to see all of it.
enum class ListLength : std::uint8_t { kShort, kFull };

/// The entries that remain of a list that `--quiet` shortens.
inline constexpr std::size_t kQuietList = 10;
/// The line that says how many entries are missing; empty for none.
std::string left_out_line(std::size_t entries);

/// A table of text for people: a heading and rows. Each column is as wide as its widest cell.
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
    /// Columns are left out to make the table fit. The column of the least worth goes first; among
    /// columns of equal worth, the last one.
    int worth = 9;
  };

  explicit TextTable(std::vector<Column> columns);

  /// `rank`: a short table shows the rows of the lowest ranks. Throws Error(kInvalidArgument) when
  /// the number of cells differs from the heading's.
  void add(std::vector<std::string> cells, double rank = 0.0);
  /// The lines, each ended by a line feed and without trailing blanks. No line is longer than
  /// `width`, so that no terminal breaks a row. Names are shortened first, then columns are left
  /// out, but never the first column. A short table has kQuietList rows, in their order, and
  /// left_out_line().
  [[nodiscard]] std::string to_string(std::size_t width = kAnyWidth,
                                      ListLength length = ListLength::kFull) const;

 private:
  struct Shown {
    std::size_t column;
    std::size_t width;
  };
  [[nodiscard]] std::vector<Shown> fitted(std::size_t width) const;
  [[nodiscard]] TextTable of_lowest_ranks(std::size_t count) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the heading first
  std::vector<double> ranks_;                   // of the rows after the heading
};

}  // namespace qtool
