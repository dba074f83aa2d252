#include "model.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "console.h"
#include "files.h"
#include "qtool/answers/annotations.h"
#include "qtool/base/error.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/broken_weights.h"
#include "qtool/graph/model_format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "signals.h"

namespace qtool::tool {

std::optional<StoredPreprocess> Model::stored_preprocess() const {
  const auto entry = loaded.info.metadata.find(std::string(kPreprocessKey));
  if (entry == loaded.info.metadata.end()) return std::nullopt;
  StoredPreprocess stored;
  stored.where = to_text("model '", path, "'");
  try {
    stored.preprocess = preprocess_from_json(entry->second);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidModel,
                to_text(stored.where, ": metadata '", kPreprocessKey, "': ", error.what()));
  }
  return stored;
}

std::vector<std::string> Model::class_names() const {
  const auto entry = loaded.info.metadata.find(std::string(kClassNamesKey));
  if (entry == loaded.info.metadata.end()) return {};
  std::optional<std::vector<std::string>> names = class_names_from_text(entry->second);
  if (!names) {
    warning(to_text("model '", path, "': metadata '", kClassNamesKey,
                    "' is no list of class names, so it names no class"));
  }
  return std::move(names).value_or(std::vector<std::string>());
}

void warn_of_left_out(const std::string& path, const Executor& executor) {
  const std::optional<LeftOut>& left_out = executor.left_out();
  if (!left_out) return;
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += to_text(text.empty() ? "'" : ", '", name, "'");
    return text;
  };
  warning(to_text(
      "model '", path, "': ", left_out->reason, ". Not computed: ", list(left_out->outputs),
      left_out->instead.empty() ? "" : "; taken as outputs instead: ", list(left_out->instead)));
}

Model open_model(const std::string& path) {
  Model model;
  model.path = path;
  model.loaded = load_model(path);
  detail(to_text("model '", path, "': ", model.loaded.nodes().size(), " nodes"));
  model.executor = std::make_unique<Executor>(prepare(model.loaded, interrupted), interrupted);
  warn_of_left_out(path, *model.executor);
  return model;
}

Option& add_model(Command& command, std::string& path, std::string_view more) {
  return command.option("model", path, to_text(model_format_names(), " model", more))
      .placeholder("MODEL");
}

bool can_run(const Graph& prepared, const Preprocess& preprocess) {
  try {
    const Executor executor(prepared, interrupted);
    static_cast<void>(executor.compile(typical_shapes(prepared, preprocess)));
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    return false;
  }
}

void warn_of_broken_weights(const Model& model) {
  const BrokenWeights found = find_broken_weights(model.executor->whole_graph());
  if (found.tensors == 0) return;
  const std::string others =
      found.tensors == 1 ? "" : to_text(" (and ", found.tensors - 1, " more tensors have such)");
  warning(to_text("model '", model.path, "': ", found.broken, " of ", found.numbers,
                  " numbers in weights '", found.first, "' are NaN or infinite", others,
                  ": what it computes with them says nothing"));
}

namespace {

// The path of the table that belongs to a model with a default name; empty for other names.
std::filesystem::path table_beside(const std::filesystem::path& int8) {
  constexpr std::string_view kEnding = ".int8.onnx";
  std::string name = int8.filename().string();
  if (!name.ends_with(kEnding)) return {};
  name.resize(name.size() - kEnding.size());
  return int8.parent_path() / (name + ".table.json");
}

// The table beside the model that made it; none without such a table. Warns if the table beside the
// model is not the one that made it. Either file may have been made anew or copied, so their
// contents are compared.
std::optional<TableBeside> own_table_beside(const Model& int8) {
  const auto& metadata = int8.loaded.info.metadata;
  const auto own = metadata.find(std::string(kTableHashKey));
  const std::filesystem::path table = table_beside(int8.path);
  std::error_code failure;
  if (own == metadata.end() || table.empty()) return std::nullopt;
  if (!std::filesystem::is_regular_file(table, failure)) return std::nullopt;
  try {
    CalibrationTable found = read_table(read_input(table, kMaxTableBytes));
    if (table_hash(found) == own->second) return TableBeside{table.string(), std::move(found)};
  } catch (const Error& error) {
    detail(to_text("'", table.string(), "' is not looked at: ", error.what()));
    return std::nullopt;
  }
  warning(to_text("model '", int8.path, "' was not made with table '", table.string(),
                  "': one of the two was replaced; quantize again to have a model of that table"));
  return std::nullopt;
}

}  // namespace

Models open_models(const std::string& fp32_path, const std::string& int8_path) {
  Models models;
  models.fp32 = open_model(fp32_path);
  warn_of_broken_weights(models.fp32);
  if (!int8_path.empty()) {
    models.int8 = open_model(int8_path);
    warn_of_broken_weights(*models.int8);
    models.table = own_table_beside(*models.int8);
    if (models.table) models.calibrated_on = models.table->table.image_ids;
  }
  const auto& fp32 = models.fp32;
  const auto& int8 = models.int8;
  if (int8 && !quantized_node(int8->loaded)) {
    throw Error(ErrorCode::kMismatch, to_text("--int8: model '", int8->path,
                                              "' computes in FP32, expected a quantized model"));
  }
  if (!quantized_node(fp32.loaded)) return models;
  if (int8) {
    throw Error(ErrorCode::kMismatch, to_text("model '", fp32.path,
                                              "' is quantized, expected the FP32 model that --int8 "
                                              "is compared with"));
  }
  warning(to_text("model '", fp32.path,
                  "' is quantized: what is called FP32 below is what its integers make"));
  return models;
}

std::optional<StoredPreprocess> stored_preprocess_of(const Models& models) {
  const auto& fp32 = models.fp32;
  const auto& int8 = models.int8;
  std::optional<StoredPreprocess> own = fp32.stored_preprocess();
  if (!int8) return own;
  const auto& metadata = int8->loaded.info.metadata;
  const auto source = metadata.find(std::string(kSourceKey));
  if (source != metadata.end() && source->second != to_hex(fingerprint(fp32.loaded))) {
    warning(to_text("model '", int8->path, "' was not made from '", fp32.path,
                    "': the comparison is between two networks"));
  }
  std::optional<StoredPreprocess> stored = int8->stored_preprocess();
  if (stored && own && !(stored->preprocess == own->preprocess)) {
    warning(to_text("model '", fp32.path, "' names another preprocessing than '", int8->path,
                    "', which is the one in use"));
  }
  return stored ? stored : own;
}

std::vector<std::int64_t> parse_extents(const std::string& text, const char* option) {
  std::vector<std::int64_t> extents;
  for (const std::string& part : split(text, 'x')) {
    std::int64_t extent = 0;
    try {
      extent = parse_int(part, option);
    } catch (const Error&) {
      extent = 0;
    }
    if (extent < 1) {
      throw Error(ErrorCode::kUsage,
                  to_text(option, ": found '", text, "', expected positive numbers joined by x"));
    }
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace qtool::tool
