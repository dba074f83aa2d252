#include "table_file.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/file_kind.h"
#include "base/text.h"
#include "checks.h"
#include "console.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxMapBytes = std::int64_t{1} << 24;
constexpr std::size_t kNamedNotes = 10;

}  // namespace

std::string text_of(const std::string& path, const FormatInfo& format) {
  return concat("table '", path, "' of format ", format.name);
}

TableFile read_table_file(const std::string& path, const std::string& format_name,
                          const LayerNames& names) {
  const FormatInfo* format = format_name.empty() ? nullptr : &find_format(format_name);
  const std::string whole = read_input(path, kMaxTableBytes);
  const std::string_view bytes = without_byte_order_mark(whole);
  if (format == nullptr) format = &recognise(bytes, path);
  try {
    TableReadResult result = format->read(bytes, {names});
    for (std::size_t i = 0; i < result.notes.size() && i < kNamedNotes; ++i) {
      warning(concat(path, ": ", result.notes[i]));
    }
    if (result.notes.size() > kNamedNotes) {
      warning(concat(path, ": and ", result.notes.size() - kNamedNotes, " more"));
    }
    detail(concat(path, ": ", format->name, ", ", result.table.activations.size(), " activations, ",
                  result.table.weights.size(), " weights"));
    return {format, std::move(result.table)};
  } catch (const Error& error) {
    throw Error(error.code(), concat("table '", path, "': ", error.what()));
  }
}

LayerNames read_layer_names(const std::string& map_path, const Graph* graph) {
  if (map_path.empty()) return graph == nullptr ? LayerNames() : layer_names(*graph);
  try {
    return layer_names_from_json(read_input(map_path, kMaxMapBytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), concat("'", map_path, "': ", error.what()));
  }
}

void take_format(Command& command, CLI::Option& option) {
  std::vector<std::string> names;
  for (const FormatInfo& format : formats()) names.emplace_back(format.name);
  take_name(command, option, std::move(names),
            [](std::string_view name) { return std::string(find_format(name).name); });
}

}  // namespace qtool::tool
