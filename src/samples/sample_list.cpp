#include "samples/sample_list.h"

#include <cstdint>
#include <string_view>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/text.h"
#include "json/json.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 28;
constexpr std::int64_t kMaxLineBytes = 1 << 16;

}  // namespace

std::vector<std::vector<std::string>> read_sample_list(const std::filesystem::path& path,
                                                       std::span<const std::string> inputs) {
  const std::string bytes = read_file(path, kMaxListBytes);
  std::vector<std::vector<std::string>> samples;
  std::int64_t number = 0;
  for (const std::string& line : split(without_byte_order_mark(bytes), '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string what = to_text("list '", path.string(), "', line ", number);
    const nlohmann::json document = parse_json(line, kMaxLineBytes, what, ErrorCode::kUsage);
    const JsonField root(document, what, ErrorCode::kUsage);
    std::vector<std::string>& files = samples.emplace_back();
    for (const std::string& input : inputs) files.push_back(root.at(input).as_string());
    if (root.members().size() == inputs.size()) continue;
    root.fail("no other keys than the network's inputs");
  }
  return samples;
}

}  // namespace qtool
