#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tool {

/// A preprocessing that was saved with a table or model, and where it was saved.
struct StoredPreprocess {
  Preprocess preprocess;
  std::string where;  ///< `model 'a.onnx'`
};

/// A model file, ready to run.
struct Model {
  std::string path;
  Graph loaded;  ///< as in the file; fingerprints are made from it
  std::unique_ptr<Executor> executor;

  /// The preprocessing in the model's metadata, if there is one.
  [[nodiscard]] std::optional<StoredPreprocess> stored_preprocess() const;
  /// The names of the network's classes in the model's metadata, see class_names_from_text(); empty
  /// if there are none. Warns of an entry that does not have them.
  [[nodiscard]] std::vector<std::string> class_names() const;
};

/// Warns when the executor leaves out the end of the network.
void warn_of_left_out(const std::string& path, const Executor& executor);

/// Whether a prepared model can be compiled for the shapes on which the emitted model is tried.
bool can_run(const Graph& prepared, const Preprocess& preprocess);

/// Warns when weights of a model are NaN or infinite.
void warn_of_broken_weights(const Model& model);

Model open_model(const std::string& path);

/// Adds the positional argument for the path of a model. `more` is the end of its help text.
Option& add_model(Command& command, std::string& path, std::string_view more = {});

/// A table that lies beside the model that was made with it.
struct TableBeside {
  std::string path;
  CalibrationTable table;
};

/// The models of a command that may compare two.
struct Models {
  Model fp32;
  std::optional<Model> int8;
  /// CalibrationTable::image_ids of the table that `int8` was made with; empty if it is not known.
  std::vector<std::uint64_t> calibrated_on{};
  /// The table that `int8` was made with, if it lies beside it.
  std::optional<TableBeside> table{};

  /// The second model's executor, or null.
  [[nodiscard]] const Executor* int8_executor() const {
    return int8 ? int8->executor.get() : nullptr;
  }
};

/// Opens the model `fp32` and, unless its path is empty, `int8`. Throws Error(kMismatch) when
/// `int8` is not quantized, or when both are given and `fp32` is quantized. Warns when a quantized
/// model is given alone, because its figures are called FP32. Reads the table that lies beside
/// `int8` under its default name, and warns when `int8` was not made with it.
Models open_models(const std::string& fp32, const std::string& int8);

/// The preprocessing for a comparison: the one stored in the INT8 model, or else the one stored in
/// the FP32 model. Warns when the INT8 model was made from another FP32 model, or when the two
/// models store different preprocessings.
std::optional<StoredPreprocess> stored_preprocess_of(const Models& models);

/// Reads extents such as `1x3x224x224`. Throws Error(kUsage), with the name `option` in the
/// message.
std::vector<std::int64_t> parse_extents(const std::string& text, const char* option);

}  // namespace qtool::tool
