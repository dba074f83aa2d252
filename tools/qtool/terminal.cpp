#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/printable.h"
#include "base/text.h"
#include "console.h"
#include "qtool/base/error.h"
#include "report/text_table.h"

namespace qtool::tool {

std::optional<std::size_t> terminal_columns(int descriptor) {
  if (const char* columns = std::getenv("COLUMNS")) {
    try {
      const std::int64_t wanted = parse_int(columns, "COLUMNS");
      if (wanted > 0) return static_cast<std::size_t>(wanted);
    } catch (const Error&) {  // a wrong value counts as not set
    }
  }
  struct ::winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width,
                    std::string_view joint) {
  constexpr std::size_t kMinRoom = 10;
  const std::size_t room = std::max(width, indent + kMinRoom) - indent;
  std::string out;
  std::size_t used = 0;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += to_text("\n", std::string(indent, ' '));
    used = 0;
    for (const std::string& word : split(line, ' ')) {
      const std::size_t columns = columns_of(word);
      if (used > 0 && used + 1 + columns + joint.size() > room) {
        out += to_text(joint, "\n", std::string(indent, ' '));
        used = 0;
      } else if (used > 0) {
        out += ' ';
        ++used;
      }
      out += word;
      used += columns;
    }
  }
  return out;
}

std::size_t result_columns() { return terminal_columns(STDOUT_FILENO).value_or(kAnyWidth); }

void print_text(std::string_view text) {
  constexpr std::size_t kHang = 2;  // continued lines are indented further
  const std::size_t width = result_columns();
  std::string shown;
  for (const std::string& line : split(printable(text, LineFeeds::kKeep), '\n')) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view words = std::string_view(line).substr(indent);
    // A wrapped command must still work when it is pasted. A line cannot be continued within
    // quotes, so a command with quotes stays whole.
    const bool command = words.starts_with("qtool ");
    const bool whole = command && words.find('\'') != std::string_view::npos;
    shown += whole || columns_of(line) <= width
                 ? line
                 : to_text(std::string(indent, ' '),
                           wrapped(words, indent + kHang, width, command ? " \\" : ""));
    shown += '\n';
  }
  shown.pop_back();  // split() gives one more line behind the last line feed
  print_result(shown);
}

}  // namespace qtool::tool
