#include "report/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::string_view kBetween = "  ";
constexpr std::string_view kLeftOut = "...";
constexpr std::size_t kMinName = 9;  // columns; names are not shortened below this

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

/// The number of bytes in the first `count` characters.
std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (starts_character(text[at]) && count-- == 0) break;
    ++at;
  }
  return at;
}

/// `text` in at most `width` columns. The middle of a longer text is left out.
std::string shortened(const std::string& text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return text;
  if (width <= kLeftOut.size()) return text.substr(0, bytes_of_characters(text, width));
  const std::size_t kept = width - kLeftOut.size();
  const std::size_t end = kept - kept / 2;  // names differ most often at their ends
  return to_text(text.substr(0, bytes_of_characters(text, kept / 2)), kLeftOut,
                 text.substr(bytes_of_characters(text, columns - end)));
}

}  // namespace

std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(line, starts_character));
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string>& heading = rows_.emplace_back();
  for (const Column& column : columns_) heading.push_back(column.heading);
}

std::string left_out_line(std::size_t entries) {
  return entries == 0 ? "" : to_text("and ", entries, " more; all of them without --quiet\n");
}

void TextTable::add(std::vector<std::string> cells, double rank) {
  if (cells.size() != columns_.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("table: a row has ", cells.size(), " cells, expected ", columns_.size()));
  }
  // A line feed in a name would break the row.
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
  ranks_.push_back(rank);
}

TextTable TextTable::of_lowest_ranks(std::size_t count) const {
  std::vector<std::size_t> order(ranks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::less(), [&](std::size_t i) { return ranks_[i]; });
  order.resize(std::min(count, order.size()));
  std::ranges::sort(order);
  TextTable table(columns_);
  for (const std::size_t row : order) {
    table.rows_.push_back(rows_[row + 1]);
    table.ranks_.push_back(ranks_[row]);
  }
  return table;
}

std::vector<TextTable::Shown> TextTable::fitted(std::size_t width) const {
  std::vector<Shown> whole;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = 0;
    for (const std::vector<std::string>& row : rows_) widest = std::max(widest, columns_of(row[i]));
    if (widest > 0) whole.push_back({i, widest});
  }
  while (!whole.empty()) {
    std::vector<Shown> shown = whole;
    std::size_t total = kBetween.size() * (shown.size() - 1);
    for (const Shown& one : shown) total += one.width;
    while (total > width) {  // the widest name first
      Shown* longest = nullptr;
      for (Shown& one : shown) {
        if (columns_[one.column].kind != Kind::kName || one.width <= kMinName) continue;
        if (longest == nullptr || one.width > longest->width) longest = &one;
      }
      if (longest == nullptr) break;
      --longest->width;
      --total;
    }
    if (total <= width) return shown;
    if (shown.size() == 1) return {{shown.front().column, width}};
    auto least = whole.begin() + 1;
    for (auto one = least; one != whole.end(); ++one) {
      if (columns_[one->column].worth <= columns_[least->column].worth) least = one;
    }
    whole.erase(least);
  }
  return whole;
}

std::string TextTable::to_string(std::size_t width, ListLength length) const {
  if (length == ListLength::kShort && ranks_.size() > kQuietList) {
    return of_lowest_ranks(kQuietList).to_string(width) + left_out_line(ranks_.size() - kQuietList);
  }
  const std::vector<Shown> shown = fitted(width);
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (const Shown& one : shown) {
      if (&one != &shown.front()) line += kBetween;
      const std::string cell = shortened(row[one.column], one.width);
      const std::string blanks(one.width - columns_of(cell), ' ');
      line += columns_[one.column].kind == Kind::kNumber ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace qtool
