#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/run.h"
#include "overwrite_check.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/model_format.h"
#include "qtool/quantize/quantize.h"
#include "report/diff/table_text.h"
#include "signals.h"
#include "table_file.h"
#include "terminal.h"

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
  wrong_use(to_text("table ", options.action, ": found ", options.files.size(), " files, expected ",
                    count));
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

TableFile read(const TableCommand& options, const std::string& path, const Names& names) {
  TableFile file = read_table_file(path, options.from, names.layers);
  if (names.loaded) require_known_tensors(file.table, *names.loaded, *names.prepared);
  return file;
}

void show(const TableCommand& options, const Command& command) {
  require_files(options, 1);
  const TableFile file = read(options, options.files[0], names_of(options));
  command.found(Trait::kLayerNames, text_of(options.files[0], *file.format),
                [&] { return file.format->reads_layers; });
  const CalibrationTable& table = file.table;
  options.run.json ? print_result(table_json(table))
                   : print_text(table_text(table, result_columns()));
}

void convert(const TableCommand& options, const Command& command) {
  require_files(options, 1);
  if (options.to.empty() || options.output.empty()) wrong_use("--to and --output are required");
  const FormatInfo& format = find_format(options.to);
  declare_output(options.output);
  const Names names = names_of(options);
  const TableFile file = read(options, options.files[0], names);
  command.found(Trait::kLayerNames,
                to_text(text_of(options.files[0], *file.format), " and --to ", format.name),
                [&] { return file.format->reads_layers || format.writes_layers; });
  const CalibrationTable& table = file.table;
  const std::vector<TableContent> lost_parts = lost_contents(table, format);
  const auto loses = [&](TableContent content) {
    return std::find(lost_parts.begin(), lost_parts.end(), content) != lost_parts.end();
  };
  if (loses(TableContent::kRewrites) && !table.weights.empty() &&
      !loses(TableContent::kWeightScales)) {
    throw Error(ErrorCode::kUnsupported,
                to_text("table '", options.files[0], "': its scales of weights are for a network ",
                        "changed before it is quantized, which format ", format.name,
                        " cannot say; calibrate without such changes"));
  }
  TableWriteOptions write_options;
  write_options.names = names.layers;
  write_options.tensorrt_version = options.tensorrt_version;
  write_options.tensorrt_algorithm = options.tensorrt_algorithm;
  const std::string bytes = format.write(table, write_options);
  const OutputFile output{options.output, bytes};
  write_outputs({&output, 1});
  std::string lost;
  std::string lost_json;
  for (const TableContent content : lost_parts) {
    lost += to_text("not carried by ", format.name, ": ", describe(content), "\n");
    lost_json += to_text(lost_json.empty() ? "" : ", ", "\"", describe(content), "\"");
  }
  if (options.run.json) {
    print_result(to_text(
        "{\"format\": \"", format.name, "\", \"activations\": ", table.activations.size(),
        ", \"weights\": ", table.weights.size(), ", \"not_carried\": [", lost_json, "]}\n"));
  } else {
    print_text(to_text(lost, table.activations.size(), " activations and ", table.weights.size(),
                       " weights -> ", options.output, " (", format.name, ")\n"));
  }
}

void diff(const TableCommand& options, const Command& command) {
  require_files(options, 2);
  const Names names = names_of(options);
  const TableFile a = read(options, options.files[0], names);
  const TableFile b = read(options, options.files[1], names);
  command.found(
      Trait::kLayerNames,
      to_text(text_of(options.files[0], *a.format), " and ", text_of(options.files[1], *b.format)),
      [&] { return a.format->reads_layers || b.format->reads_layers; });
  const TableDiff difference = diff_of(a.table, b.table);
  const double tolerance = options.tolerance.value_or(0.0);
  options.run.json
      ? print_result(json_of(difference, tolerance))
      : print_text(text_of(difference, tolerance, result_columns(), options.run.quiet_length()));
  if (!difference.within(tolerance)) {
    throw Error(ErrorCode::kMismatch,
                to_text("the tables differ by more than --tolerance ", tolerance));
  }
}

void run_table(TableCommand& options, const Command& command) {
  options.run.apply();
  if (options.action == "show") return show(options, command);
  if (options.action == "convert") return convert(options, command);
  diff(options, command);
}

}  // namespace

void add_table(Program& program, Session& session) {
  const auto options = std::make_shared<TableCommand>();
  Command& command = program.add_command(
      "table", "Show, convert and compare calibration tables of this and other tools",
      {"qtool table show model.table.json",
       "qtool table convert calibration.cache --to qtool -o model.table.json",
       "qtool table convert model.table.json --to ncnn --model model.onnx -o model.table",
       "qtool table diff a.json b.cache --tolerance 0.01"});
  command
      .option("action", options->action,
              "show FILE, convert FILE or diff FILE FILE\n"
              "show prints every tensor; convert writes another format and says what that "
              "does not carry; diff ends with exit code 1 when scales or ranges differ.")
      .required()
      .placeholder("ACTION")
      .one_of({"show", "convert", "diff"});
  command.option("files", options->files, "Table, or two for diff").required().placeholder("FILE");
  const auto format = [&](const char* names, std::string& value, const char* help) {
    take_format(command.option(names, value, help).placeholder("FORMAT"));
  };
  format("--to", options->to, "Format to convert to, see qtool help formats");
  format("--from,--table-format", options->from,
         "Format of the tables that are read (default: shown by their content)");
  command.option("-o,--output", options->output, "File to write").placeholder("FILE");
  command
      .option("--model", options->model,
              to_text(model_format_names(),
                      " model of the table\n"
                      "Its node names stand for layers, and names are checked against it."))
      .placeholder("MODEL");
  command
      .option("--name-map", options->name_map,
              "JSON file with the tensor and weight behind each layer name")
      .placeholder("FILE");
  command.option("--trt-version", options->tensorrt_version, "TensorRT version in the header")
      .placeholder("8600");
  command
      .option("--trt-algorithm", options->tensorrt_algorithm, "TensorRT calibrator in the header")
      .placeholder("NAME")
      .one_of(
          {"EntropyCalibration2", "EntropyCalibration", "MinMaxCalibration", "LegacyCalibration"});
  command
      .option("--tolerance", options->tolerance,
              "Largest relative difference that diff accepts (default: 0)")
      .placeholder("SHARE")
      .check(number([](double share) { return share >= 0.0; }, "a number of at least 0"));
  for (const char* option : {"--to", "--output"}) {
    command.goes_with(option, {{"action", {"convert"}}});
  }
  for (const char* option : {"--trt-version", "--trt-algorithm"}) {
    command.goes_with(option, {{"--to", {"tensorrt"}}});
  }
  command.goes_with("--tolerance", {{"action", {"diff"}}});
  options->run.add_to(command, ThreadsUse::kNo);
  command.show_first({"action", "files", "--to", "--output", "--from", "--model", "--name-map",
                      "--tolerance", "--json", "--quiet", "--help"});
  command.goes_with_files("--name-map", Trait::kLayerNames);
  command.on_parsed([options, &command, &session] {
    session.run = [options, &command] { run_table(*options, command); };
  });
}

}  // namespace qtool::tool
