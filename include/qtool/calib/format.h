#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/image/preprocess.h"

namespace qtool {

class Graph;

/// A layer in the table of another tool, and the tensors of the model that belong to it. Fields
/// that are not needed are empty.
struct LayerName {
  std::string layer;      ///< its name in the table
  std::string op_type;    ///< ONNX operator; TPU-MLIR puts it behind the output's name
  std::string input;      ///< tensor it reads
  std::string output;     ///< tensor it writes
  std::string weight;     ///< constant it multiplies with
  std::int64_t axis = 0;  ///< axis of the output channels in the weight
  friend bool operator==(const LayerName&, const LayerName&) = default;
};
using LayerNames = std::vector<LayerName>;

/// The layers of a graph, for tables whose layers are the nodes of the graph: one row per node, in
/// the order of the graph.
LayerNames layer_names(const Graph& graph);

/// A name map as a JSON array of objects: [{"layer": "conv1", "input": "data", "weight": "conv1_w",
/// "axis": 0, "output": "conv1_out", "op_type": "Conv"}, ...]. Every key except "layer" may be left
/// out. Throws Error(kUsage) that names the field for invalid input, and for a layer that occurs
/// twice.
LayerNames layer_names_from_json(std::string_view text);

/// Contents of a table besides the names of tensors and one scale or threshold per tensor.
enum class TableContent : std::uint8_t {
  kRanges,        ///< both ends of the chosen range
  kTypes,         ///< signed or unsigned, and the zero point
  kStatistics,    ///< observed statistics, saturation and SQNR
  kWeightScales,  ///< scales of the weights
  kWeightTypes,   ///< zero points of the weights, and bits other than 8
  kProvenance,    ///< model, images, preprocessing, method and its options
  kAliases,       ///< other names of the tensors
  kRewrites,      ///< rewrites of the network; the weight scales are for the rewritten one
};

/// A phrase for messages, such as `types and zero points`.
std::string_view describe(TableContent content) noexcept;

struct TableReadOptions {
  /// The name map for tables that name layers. Without it, the names of layers are taken for names
  /// of tensors.
  LayerNames names;
};

struct TableReadResult {
  CalibrationTable table;
  std::vector<std::string> notes;  ///< a sentence for each thing that was dropped or may be wrong
};

struct TableWriteOptions {
  LayerNames names;                               ///< as TableReadOptions::names
  std::optional<std::string> tensorrt_version;    ///< digits; default: the table's, or 8600
  std::optional<std::string> tensorrt_algorithm;  ///< default: the table's, or EntropyCalibration2
};

/// A row of the list of table formats.
struct FormatInfo {
  std::string_view name;
  std::string_view summary;  ///< one sentence for help texts
  std::vector<std::string_view> extensions;
  std::vector<TableContent> carries;
  bool reads_layers = false;   ///< whether TableReadOptions::names have an effect
  bool writes_layers = false;  ///< whether TableWriteOptions::names have an effect
  /// Whether a file looks like this format; no two formats claim the same file. Cost: one pass.
  bool (*recognises)(std::string_view bytes);
  /// Throws Error(kInvalidTable) that names the line or field, what was found and what was
  /// expected. Any bytes are safe: sizes, counts and names are limited.
  TableReadResult (*read)(std::string_view bytes, const TableReadOptions& options);
  /// Throws Error(kInvalidTable) for names that the format cannot hold, Error(kUsage) for options
  /// outside their domain or a missing name map, Error(kUnsupported) for activations that do not
  /// have 8 bits, which only the format `qtool` holds.
  std::string (*write)(const CalibrationTable& table, const TableWriteOptions& options);
};

/// Every format, sorted by name.
std::span<const FormatInfo> formats();

/// The format called `name`. Throws Error(kUsage) with the nearest names.
const FormatInfo& find_format(std::string_view name);

/// The format of a file, recognised by its content. Throws Error(kInvalidTable) that lists the
/// known formats when none of them recognises the file.
const FormatInfo& recognise(std::string_view bytes, std::string_view filename);

/// The contents of `table` that `format` cannot carry.
std::vector<TableContent> lost_contents(const CalibrationTable& table, const FormatInfo& format);

/// Whether the table names the model or the images it was made from. Tables of other tools name
/// neither.
bool has_provenance(const CalibrationTable& table) noexcept;

/// The settings in a configuration of MNN's quantization tool, as options of qtool. Settings that
/// the file leaves out are empty.
struct MnnConfig {
  std::optional<Preprocess> preprocess;  ///< empty: no setting about images
  std::string images;                    ///< folder; empty: not given
  std::optional<std::int64_t> limit;     ///< images to use
  std::string method;                    ///< calibration method by name; empty: not given
  std::string weight_method;             ///< `absmax` or `admm`; empty: not given
  std::vector<std::string> exclude;      ///< nodes that stay in FP32
  std::optional<int> bits;               ///< 2 to 8
};

/// Reads the JSON that MNN's quantized.out takes: format, mean, normal (1 / std), width, height,
/// path, used_image_num, feature_quantize_method (KL, EMA, ADMM -> kl_mnn, ema, admm),
/// weight_quantize_method (MAX_ABS, ADMM), feature_clamp_value, weight_clamp_value,
/// skip_quant_op_names, quant_bits. Throws Error(kUsage) that names the field for any other key,
/// for a value outside its domain, and for a clamp value other than 2^(bits-1) - 1, because no
/// other tool has such a setting. Source: MNN, tools/quantization, documentation of quantized.out.
MnnConfig read_mnn_config(std::string_view text);

}  // namespace qtool
