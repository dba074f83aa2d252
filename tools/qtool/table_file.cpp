#include "table_file.h"

#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_kind.h"
#include "base/hash.h"
#include "base/text.h"
#include "console.h"
#include "files.h"
#include "overwrite_check.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxMapBytes = std::int64_t{1} << 24;
constexpr std::size_t kNamedNotes = 10;

}  // namespace

std::string text_of(const std::string& path, const FormatInfo& format) {
  return to_text("table '", path, "' of format ", format.name);
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
      warning(to_text(path, ": ", result.notes[i]));
    }
    if (result.notes.size() > kNamedNotes) {
      warning(to_text(path, ": and ", result.notes.size() - kNamedNotes, " more"));
    }
    detail(to_text(path, ": ", format->name, ", ", result.table.activations.size(),
                   " activations, ", result.table.weights.size(), " weights"));
    return {format, std::move(result.table)};
  } catch (const Error& error) {
    throw Error(error.code(), to_text("table '", path, "': ", error.what()));
  }
}

std::string find_table(const std::filesystem::path& model, const std::string& target) {
  const std::filesystem::path name = default_output(model, target, ".table.json");
  const std::filesystem::path beside = model.parent_path() / name;
  for (const std::filesystem::path& path : {name, beside}) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec)) continue;
    note(to_text("table '", path.string(), "'"));
    return path.string();
  }
  throw Error(ErrorCode::kUsage,
              to_text("--table is required: there is neither '", name.string(), "' ",
                      name == beside ? "here" : to_text("here nor '", beside.string(), "'"),
                      "; qtool calibrate writes it"));
}

std::string statistics_beside(const std::string& table) { return table + ".stats"; }

Collection read_statistics(const std::string& table, const std::string& option) {
  declare_input(table);
  const std::string path = statistics_beside(table);
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::kUsage, to_text(option, " ", table, ": there is no '", path,
                                           "'; calibrate with --save-statistics to have one"));
  }
  Collection collection = read_collection(read_input(path, kMaxStatisticsBytes));
  if (collection.table_hash != hash_bytes(read_input(table, kMaxTableBytes))) {
    throw Error(ErrorCode::kMismatch,
                to_text(option, " ", table, ": '", path, "' was not saved with this table, which ",
                        "was replaced or changed; calibrate again with --save-statistics"));
  }
  return collection;
}

LayerNames read_layer_names(const std::string& map_path, const Graph* graph) {
  if (map_path.empty()) return graph == nullptr ? LayerNames() : layer_names(*graph);
  try {
    return layer_names_from_json(read_input(map_path, kMaxMapBytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), to_text("'", map_path, "': ", error.what()));
  }
}

void take_format(Option& option) {
  std::vector<std::string> names;
  for (const FormatInfo& format : formats()) names.emplace_back(format.name);
  option.name_of(std::move(names),
                 [](std::string_view name) { return std::string(find_format(name).name); });
}

}  // namespace qtool::tool
