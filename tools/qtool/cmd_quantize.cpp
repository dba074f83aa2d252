#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "console.h"
#include "model.h"
#include "options_run.h"
#include "qtool/base/file.h"
#include "qtool/base/text.h"
#include "qtool/calib/table.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/foreign_table.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "qtool/report/quantization.h"
#include "table_file.h"

namespace qtool::tool {
namespace {

struct QuantizeCommand {
  std::string model;
  std::string table;
  std::string table_format;
  std::string name_map;
  std::string target{kDefaultTarget};
  std::vector<std::string> exclude;
  std::string output;
  RunOptions run;
};

// model.onnx -> model.int8.onnx, in the current folder.
std::string default_output(const std::string& model) {
  return std::filesystem::path(model).stem().string() + ".int8.onnx";
}

// The shapes to count multiplications for: as declared, and where the model leaves an axis open,
// that of one picture (of 224 x 224 pixels, if the preprocessing does not fix a size either).
InputShapes typical_shapes(const Graph& graph, const Preprocess& preprocess) {
  constexpr std::int64_t kTypicalSide = 224;
  const Shape picture = output_shape(preprocess, kTypicalSide, kTypicalSide);
  InputShapes shapes;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (!input.shape) {
      shapes.emplace(input.name, picture);
      continue;
    }
    std::vector<std::int64_t> dims;
    for (const Dim& dim : *input.shape) {
      const auto axis = static_cast<std::int64_t>(dims.size());
      dims.push_back(dim.size ? *dim.size : axis > 0 && axis < picture.rank() ? picture[axis] : 1);
    }
    shapes.emplace(input.name, Shape(std::move(dims)));
  }
  return shapes;
}

void run_quantize(QuantizeCommand& options) {
  options.run.apply();
  const Model fp32 = open_model(options.model);
  const Graph& prepared = fp32.executor->graph();
  const CalibrationTable table = read_table_file(options.table, options.table_format,
                                                 read_layer_names(options.name_map, &prepared))
                                     .table;
  if (!has_provenance(table)) require_known_tensors(table, fp32.loaded, prepared);
  QuantizeOptions quantize_options;
  quantize_options.target = options.target;
  quantize_options.exclude = options.exclude;
  quantize_options.model_fingerprint = fingerprint(fp32.loaded);
  quantize_options.version = QTOOL_VERSION;
  QuantizationSummary summary;
  const Graph int8 = quantize(prepared, table, quantize_options, summary.report);

  summary.output = options.output.empty() ? default_output(options.model) : options.output;
  const std::string bytes = save_onnx_bytes(int8);
  summary.fp32_bytes = static_cast<std::int64_t>(std::filesystem::file_size(options.model));
  summary.int8_bytes = static_cast<std::int64_t>(bytes.size());
  write_file(summary.output, bytes);
  note(concat("wrote ", summary.output));
  // What the emitted file really runs on integers, read back as any user will read it.
  const Model emitted = open_model(summary.output);
  const InputShapes shapes = typical_shapes(emitted.loaded, table.preprocess);
  summary.coverage = coverage_of(*emitted.executor->compile(shapes));
  summary.coverage_line = coverage_line(summary.coverage, summary.report);
  print_result(options.run.json ? json_of(summary) : text_of(summary));
}

}  // namespace

void add_quantize(CLI::App& app, Session& session) {
  const auto options = std::make_shared<QuantizeCommand>();
  CLI::App* command = add_command(
      app, "quantize", "Emit the INT8 model (ONNX with QuantizeLinear / DequantizeLinear)",
      "qtool quantize model.onnx --table model.table.json -o model.int8.onnx");
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command->add_option("--table", options->table, "Calibration table of this model, of any format")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--table-format", options->table_format,
                   formats_help("Format of the table (default: shown by its content):"))
      ->type_name("FORMAT");
  command
      ->add_option("--name-map", options->name_map,
                   "JSON file with the tensor and weight behind each layer name of an ncnn or "
                   "TPU-MLIR table (default: the model's node names)")
      ->type_name("FILE");
  command->add_option("--target", options->target, "Back-end that decides what is quantized")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--exclude", options->exclude, "Nodes that stay in FP32: names or patterns")
      ->type_name("NAME");
  command->add_option("-o,--output", options->output, "Model to write (default: MODEL.int8.onnx)")
      ->type_name("FILE");
  options->run.add_to(*command);
  command->callback([options, &session] { session.run = [options] { run_quantize(*options); }; });
}

}  // namespace qtool::tool
