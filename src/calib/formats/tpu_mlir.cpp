// TPU-MLIR's calibration table: `<op> <threshold> <min> <max>` with seven decimals.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "calib/formats/rows.h"

namespace qtool {

FormatInfo format_tpu_mlir();

namespace {

constexpr std::string_view kTpuMlirWhat = "TPU-MLIR table";
constexpr std::size_t kNumbers = 3;
constexpr int kTpuMlirDecimals = 7;

bool recognises_tpu_mlir(std::string_view bytes) {
  bool any = false;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = trim(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto words = words_of(line);
    if (words.size() <= kNumbers || line.find("_param_") != line.npos ||
        !std::all_of(words.end() - kNumbers, words.end(), is_number)) {
      return false;
    }
    any = true;
  }
  return any;
}

/// The layer in the name map that a row of the table stands for. Operations are called
/// `<output>_<operator>`.
const LayerName* row_of(const LayerNames& names, const std::string& op) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const LayerName& row) {
    return row.layer == op || (!row.op_type.empty() && op == to_text(row.output, "_", row.op_type));
  });
  return found == names.end() || found->output.empty() ? nullptr : &*found;
}

bool is_output(const LayerNames& names, const std::string& tensor) {
  return std::any_of(names.begin(), names.end(),
                     [&](const LayerName& row) { return row.output == tensor; });
}

TableReadResult read_tpu_mlir(std::string_view bytes, const TableReadOptions& options) {
  TableReadResult result;
  result.table = foreign_table("tpu_mlir");
  ActivationList list(result);
  for (const TextRow& row : text_rows(bytes, kTpuMlirWhat)) {
    const std::string_view line = trim(row.text);
    if (line.empty() || line.starts_with('#')) continue;
    const auto words = words_of(line);
    if (words.size() <= kNumbers) fail_row(row, kTpuMlirWhat, line, "<op> <threshold> <min> <max>");
    const auto number = [&](std::size_t i) {
      const std::string_view word = words[words.size() - kNumbers + i];
      const auto value = static_cast<float>(number_in_row(row, kTpuMlirWhat, word));
      if (!std::isfinite(value)) fail_row(row, kTpuMlirWhat, word, "a finite float32");
      return value;
    };
    const auto name_bytes =
        static_cast<std::size_t>(words[words.size() - kNumbers].data() - line.data());
    std::string name = name_in_row(row, kTpuMlirWhat, trim(line.substr(0, name_bytes)));
    const float threshold = number(0);
    if (threshold < 0.0F)
      fail_row(row, kTpuMlirWhat, words[words.size() - 3], "a threshold from 0 on");
    if (const LayerName* known = row_of(options.names, name);
        known != nullptr && !is_output(options.names, name)) {
      name = known->output;
    }
    ActivationEntry entry = entry_of_amax(std::move(name), threshold);
    entry.observed.min = number(1);
    entry.observed.max = number(2);
    if (entry.observed.min > entry.observed.max)
      fail_row(row, kTpuMlirWhat, line, "min not above max");
    if (entry.observed.min >= 0.0F) entry.range.min = 0.0F;
    list.add(std::move(entry));
  }
  return result;
}

std::string write_tpu_mlir(const CalibrationTable& table, const TableWriteOptions& options) {
  require_eight_bits(table, kTpuMlirWhat);
  std::string out = "# op_name    threshold    min    max\n";
  for (const ActivationEntry& entry : table.activations) {
    std::string op = entry.tensor;
    const auto producer =
        std::find_if(options.names.begin(), options.names.end(),
                     [&](const LayerName& row) { return row.output == entry.tensor; });
    if (producer != options.names.end()) {
      op = producer->op_type.empty() ? producer->layer
                                     : to_text(producer->output, "_", producer->op_type);
    }
    const bool observed = entry.observed.min != 0.0F || entry.observed.max != 0.0F;
    const float low = observed ? entry.observed.min : entry.range.min;
    const float high = observed ? entry.observed.max : entry.range.max;
    out += to_text(name_for_row(op, kTpuMlirWhat, Comments::kHash), " ",
                   to_fixed(threshold_of(entry), kTpuMlirDecimals), " ",
                   to_fixed(low, kTpuMlirDecimals), " ", to_fixed(high, kTpuMlirDecimals), "\n");
  }
  return out;
}

}  // namespace

FormatInfo format_tpu_mlir() {
  FormatInfo format;
  format.name = "tpu_mlir";
  format.summary = "Sophgo TPU-MLIR's table: threshold, observed minimum and maximum per operation";
  format.extensions = {".table", "_cali_table"};
  format.carries = {};
  format.reads_layers = format.writes_layers = true;
  format.recognises = recognises_tpu_mlir;
  format.read = read_tpu_mlir;
  format.write = write_tpu_mlir;
  return format;
}

}  // namespace qtool
