#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// A weight method: the scale and zero point of one slice of weights, finite numbers that share a
/// scale. The zero point is 0 for a symmetric scheme and that of the observed range otherwise.
/// Weights that are all zero get scale 0, which the caller replaces.
using WeightMethod = Affine (*)(std::span<const float> weights, const Scheme& scheme);

/// Whether multiplying all weights by a power of two multiplies the scale by exactly that.
enum class Homogeneity : std::uint8_t {
  kExact,
  kApproximate,  ///< not exactly: the original uses absolute constants
};

/// A row of the list of weight methods.
struct WeightMethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one phrase for help texts
  Homogeneity homogeneity;
  WeightMethod choose;
};

/// Every weight method, sorted by name.
std::span<const WeightMethodInfo> weight_methods() noexcept;

/// The weight method called `name`. Throws Error(kUsage) with the nearest names.
const WeightMethodInfo& find_weight_method(std::string_view name);

/// The role of a node in a quantized model.
enum class NodeRole : std::uint8_t {
  kInteger,  ///< computes on integers
  kPassing,  ///< moves integers: input and output share scale and zero point
  kFused,    ///< an activation that runs inside the node that produces its input
  kFloat,    ///< stays in FP32
  kNotReal,  ///< computes shapes, indices or conditions: there is nothing to quantize
};

/// A node of the FP32 graph and its role in the quantized model, as the target is expected to run
/// it. What really runs is known when the emitted model is compiled, see measure_coverage().
struct NodeReport {
  std::string node;  ///< its name, or that of its first output
  std::string op_type;
  NodeRole role = NodeRole::kFloat;
  std::string reason;  ///< why it stayed in FP32; empty otherwise
};

/// A Concat whose operands kept their own scales because a common one would have cost one of them
/// too much resolution.
struct UnequalConcat {
  std::string node;
  std::vector<std::string> operands;
  std::vector<float> scales;    ///< of the operands
  double smallest_share = 0.0;  ///< of the common range that the narrowest operand uses
};

/// What a rewrite (see CalibrationTable::rewrites) did.
struct RewriteReport {
  std::string rewrite;
  std::int64_t tensors = 0;  ///< activations whose values it changed
  std::string reason;        ///< why it changed nothing, as a phrase; empty otherwise
};

struct QuantizeReport {
  std::string target;
  std::vector<RewriteReport> rewrites;  ///< those asked for, in their order
  std::vector<NodeReport> nodes;        ///< in the order of the FP32 graph
  std::vector<UnequalConcat> unequal_concats;
  std::int64_t quantized_tensors = 0;  ///< activations with a pair
  std::int64_t added_nodes = 0;
  std::int64_t weight_bytes = 0;     ///< of int8 weights
  std::int64_t output_channels = 0;  ///< of layers with int8 weights
  std::int64_t corrected_biases = 0;
  std::int64_t tuned_ranges = 0;  ///< of StaticOptions::tuned_ranges, those that took effect
  /// Convolutions whose result is added to another tensor before it is rounded, without a pair in
  /// between; see Target::residual_producers.
  std::int64_t residuals = 0;
  /// Functions of one element that run as tables, see Target::fuses_functions.
  std::int64_t functions = 0;
  std::int64_t qoperators = 0;        ///< nodes in ModelForm::kQOperator
  std::vector<std::string> wide;      ///< tensors of StaticOptions::wide that keep 16 bits
  std::vector<std::string> not_wide;  ///< those of which nothing that gains by it reads integers
  /// Layers with int8 weights that bias correction could not correct: they have no bias (MatMul), a
  /// bias would make the model larger (convolutions of one or two products), or nothing is known
  /// about their input.
  std::vector<std::string> uncorrected_layers;
  /// Layers whose weights were rounded to nearest although the rounding asked for needs images:
  /// QuantizeOptions::rounded lacks them, or has them for other weights.
  std::vector<std::string> nearest_layers;
  /// Tensors that the target would run on as integers if the table had a range for them.
  std::vector<std::string> missing_ranges;
  /// Weights and biases that hold NaN or infinity, in every mode; their layers stay in FP32.
  std::vector<std::string> non_finite;

  [[nodiscard]] const NodeReport* find(std::string_view node) const& noexcept;
  const NodeReport* find(std::string_view node) const&& = delete;
};

/// What kind of integer model quantize() makes.
enum class QuantizeMode : std::uint8_t {
  kStatic,      ///< scales from a calibration table: integers from layer to layer
  kDynamic,     ///< no table: each product finds the range of its input while running; FP32 between
  kWeightOnly,  ///< no table: int8 weights, FP32 arithmetic; about a quarter of the size
};

/// `static`, `dynamic`, `weight-only`.
std::string_view name_of(QuantizeMode mode) noexcept;
/// The mode called `name`; nothing for another name.
std::optional<QuantizeMode> find_quantize_mode(std::string_view name) noexcept;

/// Whether biases are corrected for the shift that quantizing causes in the mean of a layer's
/// output.
enum class BiasCorrection : std::uint8_t {
  kOff,
  kTable,       ///< from the channel means of the table
  kSequential,  ///< by StaticOptions::bias_shifts, from images
};

/// What to subtract from the bias of each output channel, by the name of the layer.
using BiasShifts = std::map<std::string, std::vector<double>, std::less<>>;

/// Ranges of activations of the rewritten network, by the name of the tensor; see tune_ranges().
using TunedRanges = std::map<std::string, Range, std::less<>>;

/// A layer whose weights were rounded before.
struct RoundedLayer {
  std::shared_ptr<const Tensor> integers;  ///< int8, in the shape of the weights
  /// A hash of the real weights and the scales that were rounded. A layer that has others by now is
  /// rounded to nearest: another exclusion may give equalization other factors. 0: not compared.
  std::uint64_t source = 0;
};

/// Layers that were rounded, by name; see round_on_images().
using RoundedWeights = std::map<std::string, RoundedLayer, std::less<>>;

/// Keys of the emitted model's metadata: the preprocessing as JSON, and the fingerprint of the FP32
/// model that it was made from, 16 hexadecimal digits; the target; the mode, where it is not
/// static; the rewrites that were made, separated by commas, where there were any; how weights were
/// rounded, where that is not to nearest; how many ranges were tuned, and how many tensors keep 16
/// bits, where any; `qoperator` for that form; by which factors equalization divided the channels
/// of which tensors, as JSON.
inline constexpr std::string_view kPreprocessKey = "qtool.preprocess";
inline constexpr std::string_view kSourceKey = "qtool.source";
inline constexpr std::string_view kTargetKey = "qtool.target";
inline constexpr std::string_view kModeKey = "qtool.mode";
inline constexpr std::string_view kRewritesKey = "qtool.rewrites";
inline constexpr std::string_view kRoundingKey = "qtool.weight_rounding";
inline constexpr std::string_view kTunedKey = "qtool.tuned_ranges";
inline constexpr std::string_view kWideKey = "qtool.wide_tensors";
inline constexpr std::string_view kFormKey = "qtool.form";
inline constexpr std::string_view kScaledChannelsKey = "qtool.scaled_channels";
/// The same of a table: table_hash() of the one that the model was made with.
inline constexpr std::string_view kTableHashKey = "qtool.table_hash";

/// The hash of what write_table() writes, 16 hexadecimal digits.
std::string table_hash(const CalibrationTable& table);

/// Options of every mode.
struct QuantizeOptions {
  std::string target{kDefaultTarget};
  std::vector<std::string> exclude;  ///< see PlacementOptions::exclude
  std::string rounding{"nearest"};   ///< of weights: `nearest`, or `gptq`, which needs `rounded`
  RoundedWeights rounded;            ///< instead of rounding these layers
  /// Fingerprint of the model, which a table must belong to and the emitted model names as its
  /// source; without it, that of the graph handed over.
  std::optional<std::uint64_t> model_fingerprint;
  int threads = 0;      ///< for choosing weight scales; 0 = all available; never changes the result
  std::string version;  ///< of the program, for the metadata; left out when empty
};

/// Options of QuantizeMode::kStatic.
struct StaticOptions : QuantizeOptions {
  TypeChoices types;  ///< these come first, then the table's, then the target's
  /// Rewrites to make before quantizing, in this order; without it those of the table.
  std::optional<std::vector<std::string>> rewrites;
  BiasCorrection bias_correction = BiasCorrection::kTable;
  BiasShifts bias_shifts;  ///< for kSequential, see sequential_bias_shifts()
  /// In place of those of the table, except where the user gave one.
  TunedRanges tuned_ranges;
  /// Names of tensors, or patterns with `*` and `?`, that keep 16 bits: two bytes that go through
  /// the 8-bit kernels one after the other. See Target::wide_activations.
  std::vector<std::string> wide;
  /// How the model is written; the integers are the same. Throws Error(kUsage) for a form that the
  /// target does not take. What has no form as a QOperator stays QDQ in the same model.
  ModelForm form = ModelForm::kQdq;
};

/// What may be chosen about weights in the modes without a table. They are always symmetric, with
/// one scale per output channel.
struct WeightChoices {
  std::optional<int> bits;            ///< 2 to 8; without it the target's
  std::optional<std::string> method;  ///< see find_weight_method(); without it the target's
};

/// How an LSTM is written that measures its input while running.
enum class DynamicLstm : std::uint8_t {
  kStandard,   ///< ONNX's own operators: LSTM between DequantizeLinear nodes
  kMicrosoft,  ///< ONNX Runtime's DynamicQuantizeLSTM, but for layers with the attribute layout = 1
};

/// Options of QuantizeMode::kDynamic.
struct DynamicOptions : QuantizeOptions {
  WeightChoices weights;
  DynamicLstm lstm = DynamicLstm::kStandard;
};

/// Options of QuantizeMode::kWeightOnly.
struct WeightOnlyOptions : QuantizeOptions {
  WeightChoices weights;
};

/// A quantized model, and a report about its nodes.
struct Quantized {
  Graph graph;
  QuantizeReport report;
};

/// The integer form of a prepared graph, as standard ONNX with QuantizeLinear/DequantizeLinear; see
/// StaticOptions::form for the other form.
/// place() decides where; each tensor that integer nodes read gets one pair however many read it,
/// and every reader, FP32 ones too, sees the dequantized value. Weights become int8 initializers
/// and biases int32 ones of scale s_x s_w[c], each behind a DequantizeLinear; the operands of a
/// Concat share one scale and zero point where that costs none of them more than one bit. All names
/// of nodes, inputs, outputs and FP32 tensors stay, except that a graph output which integer nodes
/// read too becomes the dequantized tensor and its real form gets `_fp32` behind its name. Types
/// are the target's, unless the table or `options` choose others. Integers of fewer than 8 bits
/// keep within their limits by a Clip in front of the QuantizeLinear. Weight scales that the table
/// holds are used, raised where the bias would not fit, unless `options` choose other types or
/// another method for weights; the others follow choose_weight_affines(). Metadata of the graph
/// stay; `qtool.preprocess`, `qtool.method`, `qtool.table_hash`, `qtool.target` and `qtool.version`
/// are added. Throws Error(kMismatch) when the table belongs to another model, Error(kUsage) for an
/// unknown target, method or rounding, or an exclusion that matches nothing, Error(kUnsupported)
/// when the graph is below opset 13 or quantized already, Error(kInvalidTable) for weight scales
/// that do not fit their weight. Cost: linear in the weights. Source: ONNX operators QuantizeLinear
/// and DequantizeLinear, opset 13; Jacob et al., arXiv 1712.05877, section 2.
Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options = {});

/// The same without a table, for products that measure their input.
/// Every Conv, Gemm and MatMul with constant weights that the target lists becomes
/// DynamicQuantizeLinear -> ConvInteger or MatMulInteger -> Cast -> Mul -> Add; weights are s8 for
/// matrices, and for convolutions u8 around 128, the form that ONNX Runtime's ConvInteger takes.
/// Biases stay float. The report names the nodes that multiply; `qtool.mode` is added to the
/// metadata. `means`: a table whose channel means correct the biases, see weight_bias_shift(); its
/// ranges play no part. Without one no bias is corrected. Throws Error(kUsage), Error(kUnsupported)
/// and Error(kMismatch) as above. Cost: linear in the weights. Source: ONNX operators
/// DynamicQuantizeLinear, ConvInteger, MatMulInteger.
Quantized quantize(const Graph& prepared, const DynamicOptions& options,
                   const CalibrationTable* means = nullptr);

/// The same with int8 weights only: those of every Conv, Gemm and MatMul are stored behind a
/// DequantizeLinear, one scale per output channel. Of the target only bits and weight method count.
Quantized quantize(const Graph& prepared, const WeightOnlyOptions& options,
                   const CalibrationTable* means = nullptr);

/// Checks that a table without a model fingerprint fits this model: every activation and weight it
/// names must be a tensor of the model as loaded or as prepared. TensorRT's names for its internal
/// tensors, `(Unnamed Layer* 7) ...`, are ignored. Throws Error(kMismatch) with the three nearest
/// names for the first one that is unknown. Cost: linear, if all are known.
void require_known_tensors(const CalibrationTable& table, const Graph& loaded,
                           const Graph& prepared);

/// Whether any layer multiplies with constant weights, so that choices about weights change
/// something; and whether any is a convolution that TypeChoices::winograd_bits concerns.
bool has_weights(const Graph& prepared);
bool has_winograd_weights(const Graph& prepared);

/// The first node that only quantized models have; nothing for an FP32 model.
std::optional<NodeId> quantized_node(const Graph& graph);
/// Whether the model has activations with stored scales, as static quantization makes them. Dynamic
/// and weight-only models have none.
bool has_fixed_scales(const Graph& graph);

/// The target called `name` with the types that the table and then `types` choose. Throws as
/// find_target() and with_choices().
Target chosen_target(const CalibrationTable& table, std::string_view name,
                     const TypeChoices& types);
Target chosen_target(const CalibrationTable& table, const StaticOptions& options);
Target chosen_target(std::string_view name, const WeightChoices& weights);

/// Fills `table.weights` with the scales that quantize() would use, so that they can be seen,
/// changed and converted. Entries that the table has already are kept, raised where a bias would
/// not fit. Where `options` choose other types or another method for weights than the table, these
/// become the table's, and its earlier entries go.
void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table);

}  // namespace qtool
