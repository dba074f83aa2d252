#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_run.h"
#include "qtool/base/error.h"
#include "qtool/base/text.h"
#include "qtool/exec/prepare.h"
#include "qtool/quantize/foreign_table.h"
#include "qtool/report/table_diff.h"
#include "signals.h"
#include "table_file.h"

namespace qtool::tool {
namespace {

struct TableCommand {
  std::string action;
  std::vector<std::string> files;
  std::string from;
  std::string to;
  std::string output;
  std::string model;
  std::string name_map;
  std::optional<std::string> tensorrt_version;
  std::optional<std::string> tensorrt_algorithm;
  std::optional<double> tolerance;
  RunOptions run;
};

[[noreturn]] void wrong_use(const std::string& message) { throw Error(ErrorCode::kUsage, message); }

void require_files(const TableCommand& options, std::size_t count) {
  if (options.files.size() == count) return;
  wrong_use(concat("table ", options.action, ": found ", options.files.size(), " files, expected ",
                   count));
}

// An option that belongs to one action is a mistake with another.
void require_absent(const TableCommand& options, bool given, const char* option) {
  if (given) wrong_use(concat(option, " does not go with 'table ", options.action, "'"));
}

void require_options_of_action(const TableCommand& options) {
  if (options.action != "convert") {
    require_absent(options, !options.to.empty(), "--to");
    require_absent(options, !options.output.empty(), "--output");
    require_absent(options, options.tensorrt_version.has_value(), "--trt-version");
    require_absent(options, options.tensorrt_algorithm.has_value(), "--trt-algorithm");
  }
  if (options.action != "diff") {
    require_absent(options, options.tolerance.has_value(), "--tolerance");
  }
}

/// The name map, and the model to check names against, if one is given.
struct Names {
  std::optional<Graph> loaded;
  std::optional<Graph> prepared;
  LayerNames layers;
};

Names names_of(const TableCommand& options) {
  Names names;
  if (!options.model.empty()) {
    names.loaded = load_model(options.model);
    names.prepared = prepare(*names.loaded, interrupted);
  }
  names.layers = read_layer_names(options.name_map, names.prepared ? &*names.prepared : nullptr);
  return names;
}

CalibrationTable read(const TableCommand& options, const std::string& path, const Names& names) {
  CalibrationTable table = read_table_file(path, options.from, names.layers).table;
  if (names.loaded) require_known_tensors(table, *names.loaded, *names.prepared);
  return table;
}

void show(const TableCommand& options) {
  require_files(options, 1);
  const CalibrationTable table = read(options, options.files[0], names_of(options));
  print_result(options.run.json ? table_json(table) : table_text(table));
}

void convert(const TableCommand& options) {
  require_files(options, 1);
  if (options.to.empty() || options.output.empty()) wrong_use("--to and --output are required");
  const FormatInfo& format = find_format(options.to);
  declare_output(options.output);
  const Names names = names_of(options);
  const CalibrationTable table = read(options, options.files[0], names);
  TableWriteOptions write_options;
  write_options.names = names.layers;
  write_options.tensorrt_version = options.tensorrt_version;
  write_options.tensorrt_algorithm = options.tensorrt_algorithm;
  const std::string bytes = format.write(table, write_options);
  const OutputFile file{options.output, bytes};
  write_outputs({&file, 1});
  std::string lost;
  std::string lost_json;
  for (const TableContent content : lost_contents(table, format)) {
    lost += concat("not carried by ", format.name, ": ", describe(content), "\n");
    lost_json += concat(lost_json.empty() ? "" : ", ", "\"", describe(content), "\"");
  }
  if (options.run.json) {
    print_result(
        concat("{\"format\": \"", format.name, "\", \"activations\": ", table.activations.size(),
               ", \"weights\": ", table.weights.size(), ", \"not_carried\": [", lost_json, "]}\n"));
  } else {
    print_result(concat(lost, table.activations.size(), " activations and ", table.weights.size(),
                        " weights -> ", options.output, " (", format.name, ")\n"));
  }
}

void diff(const TableCommand& options) {
  require_files(options, 2);
  const Names names = names_of(options);
  const CalibrationTable a = read(options, options.files[0], names);
  const CalibrationTable b = read(options, options.files[1], names);
  const TableDiff difference = diff_of(a, b);
  const double tolerance = options.tolerance.value_or(0.0);
  print_result(options.run.json ? json_of(difference, tolerance) : text_of(difference, tolerance));
  if (!difference.within(tolerance)) {
    throw Error(ErrorCode::kMismatch,
                concat("the tables differ by more than --tolerance ", tolerance));
  }
}

void run_table(TableCommand& options) {
  options.run.apply();
  require_options_of_action(options);
  if (options.action == "show") return show(options);
  if (options.action == "convert") return convert(options);
  if (options.action == "diff") return diff(options);
  wrong_use(concat("table: found '", options.action, "', expected show, convert or diff"));
}

}  // namespace

void add_table(CLI::App& app, Session& session) {
  const auto options = std::make_shared<TableCommand>();
  CLI::App* command = add_command(
      app, "table", "Show, convert and compare calibration tables of this and other tools",
      "qtool table show model.table.json\n"
      "  qtool table convert calibration.cache --to qtool -o model.table.json\n"
      "  qtool table convert model.table.json --to ncnn --model model.onnx -o model.table\n"
      "  qtool table diff a.json b.cache --tolerance 0.01");
  command
      ->add_option("action", options->action,
                   "show FILE: every tensor of a table\n"
                   "convert FILE: write it in another format and say what that does not carry\n"
                   "diff A B: exit code 1 when scales or ranges differ")
      ->required()
      ->type_name("ACTION");
  command->add_option("files", options->files, "Table, or two for diff")
      ->required()
      ->type_name("FILE");
  command->add_option("--to", options->to, formats_help("Format to convert to:"))
      ->type_name("FORMAT");
  command
      ->add_option("--from,--table-format", options->from,
                   "Format of the tables that are read (default: shown by their content)")
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->output, "File to write")->type_name("FILE");
  command
      ->add_option("--model", options->model,
                   "ONNX model: its node names stand for layers, and names are checked against it")
      ->type_name("MODEL");
  command
      ->add_option("--name-map", options->name_map,
                   "JSON file with the tensor and weight behind each layer name")
      ->type_name("FILE");
  command->add_option("--trt-version", options->tensorrt_version, "TensorRT version in the header")
      ->type_name("8600");
  command
      ->add_option("--trt-algorithm", options->tensorrt_algorithm,
                   "EntropyCalibration2, EntropyCalibration, MinMaxCalibration, LegacyCalibration")
      ->type_name("NAME");
  command
      ->add_option("--tolerance", options->tolerance,
                   "Largest relative difference that diff accepts (default: 0)")
      ->type_name("SHARE")
      ->check(CLI::NonNegativeNumber);
  options->run.add_to(*command);
  command->callback([options, &session] { session.run = [options] { run_table(*options); }; });
}

}  // namespace qtool::tool
