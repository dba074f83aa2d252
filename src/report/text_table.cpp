#include "qtool/report/text_table.h"

#include <algorithm>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/base/printable.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte
  }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> heading, std::vector<Align> alignment)
    : alignment_(std::move(alignment)) {
  alignment_.resize(heading.size(), Align::kLeft);
  rows_.push_back(std::move(heading));
}

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != alignment_.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                concat("table: a row has ", cells.size(), " cells, expected ", alignment_.size()));
  }
  // A line feed in a name would make a row of its own.
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      line += alignment_[i] == Align::kRight ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace qtool
