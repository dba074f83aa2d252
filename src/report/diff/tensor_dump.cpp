#include "report/diff/tensor_dump.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/json.h"
#include "json/json_text.h"
#include "qtool/base/error.h"
#include "samples/npy.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxStem = 100;

// Only characters that every file system accepts. std::isalnum() depends on the locale.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

std::string plain_stem(std::string_view name) {
  std::string stem(name.substr(0, kMaxStem));
  for (char& c : stem) c = is_plain(c) ? c : '_';
  if (stem.empty() || stem.front() == '.') stem.insert(0, 1, '_');
  return stem.substr(0, kMaxStem);
}

struct DumpFile {
  std::string_view key;
  const Tensor* tensor;
};

// The tensors of a pair that are present. Each of them is written to a file.
std::vector<DumpFile> files_of(const TensorPair& pair) {
  std::vector<DumpFile> files{{"fp32", &pair.fp32}};
  if (pair.int8) files.push_back({"int8", &*pair.int8});
  if (pair.integers) files.push_back({"integers", &*pair.integers});
  return files;
}

std::string file_name(const std::string& stem, std::string_view key) {
  return to_text(stem, ".", key, ".npy");
}

std::vector<std::string> stems_of(std::span<const TensorPair> pairs) {
  std::vector<std::string> names;
  for (const TensorPair& pair : pairs) names.push_back(pair.name);
  return file_stems(names);
}

}  // namespace

std::vector<std::string> file_stems(std::span<const std::string> names) {
  std::vector<std::string> stems;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, std::int64_t> last;  // last number tried for each stem
  for (const std::string& name : names) {
    const std::string stem = plain_stem(name);
    std::int64_t& number = last[to_lower(stem)];
    std::string unique = stem;
    while (!taken.insert(to_lower(unique)).second) {
      const std::string ending = to_text("-", ++number + 1);
      unique = stem.substr(0, kMaxStem - ending.size()) + ending;
    }
    stems.push_back(std::move(unique));
  }
  return stems;
}

void require_room(std::int64_t bytes, const fs::path& folder) {
  if (bytes > physical_memory()) {
    throw Error(ErrorCode::kUnsupported,
                to_text("the tensors take ", bytes, " bytes, this machine has ", physical_memory(),
                        " of memory; dump fewer at once"));
  }
  std::error_code ec;
  const fs::path existing = fs::exists(folder, ec) ? folder : fs::absolute(folder).parent_path();
  const fs::space_info space = fs::space(existing, ec);
  if (ec || static_cast<std::uint64_t>(bytes) <= space.available) return;
  throw Error(ErrorCode::kIo, to_text("folder '", folder.string(), "' has room for ",
                                      static_cast<std::int64_t>(space.available),
                                      " bytes, the tensors take ", bytes));
}

std::string dump_index(std::span<const TensorPair> pairs, const DumpOrigin& origin) {
  Json json;
  json["fp32_model"] = origin.fp32;
  if (!origin.int8.empty()) json["int8_model"] = origin.int8;
  json["sample"] = origin.sample;
  json["tensors"] = Json::array();
  const std::vector<std::string> stems = stems_of(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const TensorPair& pair = pairs[i];
    Json row{{"name", pair.name},
             {"operator", pair.op_type.empty() ? "input" : pair.op_type},
             {"shape", pair.fp32.shape().dims()}};
    for (const DumpFile& file : files_of(pair)) {
      const DType dtype = file.tensor->dtype();
      row[std::string(file.key)] = {{"file", file_name(stems[i], file.key)},
                                    {"dtype", name_of(dtype)}};
    }
    if (pair.integers) {
      Json& integers = row["integers"];
      integers["tensor"] = pair.int8_name;
      integers["scales"] = json_numbers(pair.affines.scales);
      integers["zero_points"] = pair.affines.zero_points.empty()
                                    ? std::vector<std::int32_t>(pair.affines.scales.size(), 0)
                                    : pair.affines.zero_points;
      if (!pair.affines.per_tensor()) integers["axis"] = pair.affines.axis;
    }
    if (pair.int8) {
      row["sqnr_db"] = finite_or_null(pair.sqnr_db);
      row["max_abs_error"] = finite_or_null(pair.max_abs_error);
    } else if (!origin.int8.empty()) {
      row["note"] = "the INT8 model has no tensor of this name";
    }
    json["tensors"].push_back(std::move(row));
  }
  return json_text(json);
}

void write_dump(const fs::path& folder, std::span<const TensorPair> pairs,
                const DumpOrigin& origin) {
  std::error_code ec;
  fs::create_directory(folder, ec);
  if (ec) {
    throw Error(ErrorCode::kIo,
                to_text("folder '", folder.string(), "' cannot be made: ", ec.message()));
  }
  const std::vector<std::string> stems = stems_of(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (const DumpFile& file : files_of(pairs[i])) {
      write_file(folder / file_name(stems[i], file.key), npy_bytes(*file.tensor));
    }
  }
  write_file(folder / kDumpIndex, dump_index(pairs, origin));
}

}  // namespace qtool
