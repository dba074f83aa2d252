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

#include "qtool/base/progress.h"
#include "qtool/calib/table.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// A weight method chooses the scale and zero point of one slice of weights. A slice holds finite
/// numbers that share a scale. The zero point is 0 for a symmetric scheme. Otherwise it is the zero
/// point of the observed range. Weights that are all zero get scale 0, which the caller replaces.
using WeightMethod = Affine (*)(std::span<const float> weights, const Scheme& scheme);

/// A row of the list of weight methods.
struct WeightMethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one phrase for help texts
  WeightMethod choose;
};

/// Every weight method, sorted by name.
std::span<const WeightMethodInfo> weight_methods() noexcept;

/// The weight method called `name`. Throws Error(kUsage) with the nearest names.
const WeightMethodInfo& find_weight_method(std::string_view name);

/// A layer with weights on its way to integers, in src/quantize/layer.h.
struct Layer;

/// A rounding method. It computes the integers of a layer whose scales are already chosen: int8, in
/// the shape of the weights, within the limits of the scheme. The result depends only on the layer
/// and on the data about its input.
using Rounding = Tensor (*)(const Layer& layer);

/// The data about the input of a layer that a rounding method needs. Without these data it rounds
/// to nearest.
enum class RoundingNeeds : std::uint8_t {
  kNothing,
  kMoments,  ///< the second moments of the input vectors
  kSamples,  ///< the moments and some vectors; uses the moments alone if there are no vectors
};

/// A row of the list of rounding methods.
struct RoundingInfo {
  std::string_view name;
  std::string_view summary;  ///< one phrase for help texts; its subject is the name
  RoundingNeeds needs = RoundingNeeds::kNothing;
  Rounding round = nullptr;
};

/// Every rounding method, from the least work to the most.
std::span<const RoundingInfo> roundings() noexcept;

/// The rounding method called `name`. Throws Error(kUsage) with the nearest names.
const RoundingInfo& find_rounding(std::string_view name);

/// The role of a node in a quantized model.
enum class NodeRole : std::uint8_t {
  kInteger,  ///< computes on integers
  kPassing,  ///< moves integers: input and output share scale and zero point
  kFused,    ///< an activation that runs inside the node that produces its input
  kFloat,    ///< stays in FP32
  kNotReal,  ///< computes shapes, indices or conditions: there is nothing to quantize
};

/// A node of the FP32 graph and its role in the quantized model, as the target is expected to run
/// it. The kernels that really run are known only when the emitted model is compiled, see
/// measure_coverage().
struct NodeReport {
  std::string node;  ///< its name, or that of its first output
  std::string op_type;
  NodeRole role = NodeRole::kFloat;
  std::string reason;  ///< why it stayed in FP32; empty otherwise
};

/// A Concat whose operands kept their own scales because a common scale would have cost one operand
/// too much resolution.
struct UnequalConcat {
  std::string node;
  std::vector<std::string> operands;
  std::vector<float> scales;    ///< of the operands
  double smallest_share = 0.0;  ///< share of the common range that the narrowest operand uses
};

/// The result of a rewrite, see CalibrationTable::rewrites.
struct RewriteReport {
  std::string rewrite;
  std::int64_t tensors = 0;  ///< activations whose values it changed
  std::string reason;        ///< why it changed nothing, as a phrase; empty otherwise
};

struct QuantizeReport {
  std::string target;
  std::vector<RewriteReport> rewrites;  ///< the requested ones, in their order
  std::vector<NodeReport> nodes;        ///< in the order of the FP32 graph
  std::vector<UnequalConcat> unequal_concats;
  std::int64_t quantized_tensors = 0;  ///< activations with a Q/DQ pair
  std::int64_t added_nodes = 0;
  std::int64_t weight_bytes = 0;     ///< of int8 weights
  std::int64_t output_channels = 0;  ///< of layers with int8 weights
  /// Pairs of neighbouring weights whose products saturate when the back-end adds them in 16 bits
  /// and the activations are large; see Target::adds_pairs_in_16_bits.
  std::int64_t saturating_pairs = 0;
  std::int64_t corrected_biases = 0;
  std::int64_t tuned_ranges = 0;  ///< entries of Learned::tuned_ranges that took effect
  /// Convolutions whose result is added to another tensor before it is rounded, without a pair in
  /// between; see Target::residual_producers.
  std::int64_t residuals = 0;
  /// Functions of one element that run as tables, see Target::fuses_functions.
  std::int64_t functions = 0;
  /// Functions that run inside a product, see Target::function_producers.
  std::int64_t inner_functions = 0;
  std::int64_t qoperators = 0;    ///< nodes in ModelForm::kQOperator
  std::vector<std::string> wide;  ///< tensors of StaticOptions::wide that keep 16 bits
  /// Nodes that multiply the second byte of a tensor that keeps 16 bits. They are half of a layer.
  std::vector<std::string> second_halves;
  /// Tensors of StaticOptions::wide that stay at 8 bits, because no node that reads their integers
  /// would gain by 16 bits.
  std::vector<std::string> not_wide;
  /// Layers with int8 weights that bias correction could not correct: they have no bias (MatMul), a
  /// bias would make the model larger (convolutions with one or two products per output), or the
  /// channel means of their input are unknown.
  std::vector<std::string> uncorrected_layers;
  /// Layers whose weights were rounded to nearest although the requested rounding needs images.
  /// Learned::rounded has no entry for them, or an entry for other weights.
  std::vector<std::string> nearest_layers;
  /// Tensors that would be quantized for the target if the table had a range for them.
  std::vector<std::string> missing_ranges;
  /// Weights and biases that hold NaN or infinity, listed in every mode. Their layers stay in FP32.
  std::vector<std::string> non_finite;

  [[nodiscard]] const NodeReport* find(std::string_view node) const& noexcept;
  const NodeReport* find(std::string_view node) const&& = delete;
};

/// The kind of integer model that quantize() makes.
enum class QuantizeMode : std::uint8_t {
  kStatic,      ///< scales from a calibration table: integers from layer to layer
  kDynamic,     ///< no table: each product measures its input while running; FP32 between
  kWeightOnly,  ///< no table: int8 weights, FP32 arithmetic; about a quarter of the size
};

/// The name of a mode: `static`, `dynamic` or `weight-only`.
std::string_view name_of(QuantizeMode mode) noexcept;
/// The mode called `name`, or nothing if no mode has that name.
std::optional<QuantizeMode> find_quantize_mode(std::string_view name) noexcept;

/// Whether and how biases are corrected for the shift that quantizing causes in the mean of a
/// layer's output.
enum class BiasCorrection : std::uint8_t {
  kOff,
  kTable,       ///< from the channel means of the table
  kSequential,  ///< by Learned::bias_shifts, from images
};

/// By the name of a layer: the value to subtract from the bias of each output channel.
using BiasShifts = std::map<std::string, std::vector<double>, std::less<>>;

/// Ranges of activations of the rewritten network, by the name of the tensor; see tune_ranges().
using TunedRanges = std::map<std::string, Range, std::less<>>;

/// The integers of a layer whose weights are already rounded.
struct RoundedLayer {
  std::shared_ptr<const Tensor> integers;  ///< int8, in the shape of the weights
  /// A hash of the real weights and scales that were rounded. If the layer has other weights or
  /// scales by now, it is rounded to nearest. This can happen because other exclusions may give
  /// equalization other factors. 0: not compared.
  std::uint64_t source = 0;
};

/// Layers that were rounded, by name; see round_on_images().
using RoundedWeights = std::map<std::string, RoundedLayer, std::less<>>;

/// The results of running the network on images, for quantize(); see the room `on_images`.
/// StaticOptions has the choices.
struct Learned {
  /// Ranges that replace those of the table, except ranges that the user gave; see tune_ranges().
  TunedRanges tuned_ranges;
  RoundedWeights rounded;  ///< used instead of rounding these layers; see round_on_images()
  BiasShifts bias_shifts;  ///< for BiasCorrection::kSequential; see sequential_bias_shifts()
};

// Keys of the metadata of an emitted model. A key is left out if it does not apply.

/// The preprocessing of the images, as JSON.
inline constexpr std::string_view kPreprocessKey = "qtool.preprocess";
/// The fingerprint of the FP32 model that the model was made from, 16 hexadecimal digits.
inline constexpr std::string_view kSourceKey = "qtool.source";
inline constexpr std::string_view kTargetKey = "qtool.target";
/// The mode, unless it is static.
inline constexpr std::string_view kModeKey = "qtool.mode";
/// The rewrites that changed the network, separated by commas.
inline constexpr std::string_view kRewritesKey = "qtool.rewrites";
/// The rounding method of the weights, unless it is to nearest.
inline constexpr std::string_view kRoundingKey = "qtool.weight_rounding";
/// The number of tuned ranges, unless it is 0.
inline constexpr std::string_view kTunedKey = "qtool.tuned_ranges";
/// The number of tensors that keep 16 bits, unless it is 0.
inline constexpr std::string_view kWideKey = "qtool.wide_tensors";
/// The limit of pairs of weights, if a static model keeps one; see Target::weight_pairs.
inline constexpr std::string_view kPairsKey = "qtool.weight_pairs";
/// `qoperator`, if the model has that form.
inline constexpr std::string_view kFormKey = "qtool.form";
/// The factors by which equalization divided the channels of tensors, as JSON.
inline constexpr std::string_view kScaledChannelsKey = "qtool.scaled_channels";
/// table_hash() of the calibration table that the model was made with.
inline constexpr std::string_view kTableHashKey = "qtool.table_hash";

/// The hash of the text that write_table() writes, 16 hexadecimal digits. The ids of images are
/// left out: a model does not depend on them.
std::string table_hash(const CalibrationTable& table);

/// Options of every mode.
struct QuantizeOptions {
  std::string target{kDefaultTarget};
  std::vector<std::string> exclude;  ///< see PlacementOptions::exclude
  /// The rounding method of the weights. All but `nearest` need Learned::rounded.
  std::string rounding{"nearest"};
  /// Fingerprint of the model. A table must belong to this model, and the emitted model names it as
  /// its source. Without a value, the fingerprint of the given graph is used.
  std::optional<std::uint64_t> model_fingerprint;
  int threads = 0;      ///< for choosing weight scales; 0 = all available; never changes the result
  std::string version;  ///< of the program, for the metadata; left out when empty
  /// Asked while shapes are inferred and before each layer. True ends the work with kCancelled.
  StopCheck stop{};
};

/// Options of QuantizeMode::kStatic.
struct StaticOptions : QuantizeOptions {
  TypeChoices types;  ///< these take precedence, then the table's, then the target's
  /// Rewrites to make before quantizing, in this order. Without a value, the rewrites of the table
  /// are made.
  std::optional<std::vector<std::string>> rewrites;
  BiasCorrection bias_correction = BiasCorrection::kTable;
  /// Tensors that keep 16 bits, as names or patterns with `*` and `?`. Their two bytes go through
  /// the 8-bit kernels one after the other. See Target::wide_activations.
  std::vector<std::string> wide;
  /// How the model is written; the integers are the same in both forms. quantize() throws
  /// Error(kUsage) for a form that the target does not accept. A node that has no QOperator form
  /// stays in QDQ form in the same model.
  ModelForm form = ModelForm::kQdq;
  /// The hash that the model carries as kTableHashKey, for a table that was changed after it was
  /// read. Without a value, table_hash() of the table.
  std::optional<std::string> table_hash;
};

/// Choices about weights in the modes without a table. The weights are always symmetric there, with
/// one scale per output channel.
struct WeightChoices {
  std::optional<int> bits;            ///< 2 to 8; default: the target's
  std::optional<std::string> method;  ///< see find_weight_method(); default: the target's
  std::optional<WeightPairs> pairs;   ///< of layers that multiply integers; default: free
};

/// How an LSTM that measures its input while running is written.
enum class DynamicLstm : std::uint8_t {
  kStandard,   ///< ONNX's own operators: LSTM between DequantizeLinear nodes
  kMicrosoft,  ///< ONNX Runtime's DynamicQuantizeLSTM; kStandard for layers with layout = 1
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

/// Returns the integer form of a prepared graph, as standard ONNX with
/// QuantizeLinear/DequantizeLinear. See StaticOptions::form for the other form.
/// place() decides which nodes run on integers. Each tensor that integer nodes read gets one pair,
/// however many nodes read it. Every reader, FP32 nodes included, sees the dequantized value.
/// Weights become int8 initializers, and biases become int32 initializers of scale s_x s_w[c]. A
/// DequantizeLinear follows each of them. The operands of a Concat share one scale and zero point
/// if that costs none of them more resolution than Target::concat_min_share allows. All names of
/// nodes, inputs, outputs and FP32 tensors stay, with one exception: if integer nodes read a graph
/// output too, the output becomes the dequantized tensor, and `_fp32` is appended to the name of
/// the real one. Types are the target's, unless the table or `options` choose others. A Clip before
/// the QuantizeLinear keeps integers of fewer than 8 bits within their limits. Weight scales of the
/// table are used, unless `options` choose other types or another method for weights. They are
/// raised where the bias would not fit. All other weight scales come from choose_weight_affines().
/// The metadata of the graph stay; the keys above, `qtool.method` and `qtool.version` are added.
/// Throws Error(kMismatch) when the table belongs to another model, Error(kUsage) for an unknown
/// target, method or rounding, or an exclusion that matches nothing, Error(kUnsupported) when the
/// graph is below opset 13 or quantized already, Error(kInvalidTable) for weight scales that do not
/// fit their weight. Cost: linear in the weights. Source: ONNX operators QuantizeLinear and
/// DequantizeLinear, opset 13; Jacob et al., arXiv 1712.05877, section 2.
Quantized quantize(const Graph& prepared, const CalibrationTable& table,
                   const StaticOptions& options = {}, const Learned& learned = {});

/// Everything from which quantize() makes one model.
struct StaticInputs {
  CalibrationTable table;
  StaticOptions options;
  Learned learned{};
};
Quantized quantize(const Graph& prepared, const StaticInputs& inputs);

/// Quantizes without a calibration table: each product measures its input while the model runs.
/// Every Conv, Gemm and MatMul with constant weights that the target lists becomes
/// DynamicQuantizeLinear -> ConvInteger or MatMulInteger -> Cast -> Mul -> Add. Weights of matrices
/// are s8. Weights of convolutions are u8 with zero point 128, the form that ONNX Runtime's
/// ConvInteger accepts. Biases stay float. The report lists only the nodes that multiply.
/// `qtool.mode` is added to the metadata. `means`: a table whose channel means correct the biases,
/// see weight_bias_shift(). Its ranges are not used. Without a table no bias is corrected. Throws
/// Error(kUsage), Error(kUnsupported) and Error(kMismatch) as the static quantize() does. Cost:
/// linear in the weights. Source: ONNX operators DynamicQuantizeLinear, ConvInteger, MatMulInteger.
Quantized quantize(const Graph& prepared, const DynamicOptions& options,
                   const CalibrationTable* means = nullptr);

/// Quantizes the weights only. The weights of every convolution, matrix product and recurrent layer
/// are stored as int8 with one scale per output channel, followed by a DequantizeLinear. Only the
/// bits and the weight method of the target are used. `means`: as in the dynamic mode.
Quantized quantize(const Graph& prepared, const WeightOnlyOptions& options,
                   const CalibrationTable* means = nullptr);

/// Checks that a table without a model fingerprint fits this model: every activation and weight it
/// names must be a tensor of the model as loaded or as prepared. TensorRT's names for its internal
/// tensors, `(Unnamed Layer* 7) ...`, and ncnn's names of weights with `_param_` are ignored.
/// Throws Error(kMismatch) for the first unknown name, with the three nearest names. Cost: linear,
/// if all names are known.
void require_known_tensors(const CalibrationTable& table, const Graph& loaded,
                           const Graph& prepared);

/// Whether any layer has constant weights. Without any, choices about weights change nothing.
bool has_weights(const Graph& prepared);
/// Whether any layer is a convolution to which TypeChoices::winograd_bits applies.
bool has_winograd_weights(const Graph& prepared);

/// The first node of a kind that only quantized models have; nothing for an FP32 model.
std::optional<NodeId> quantized_node(const Graph& graph);
/// Whether the model has activations with stored scales, as static quantization makes them. Dynamic
/// and weight-only models have none.
bool has_fixed_scales(const Graph& graph);

/// The target called `name` with the types that the table chooses, overridden by those that `types`
/// chooses. Throws as find_target() and with_choices().
Target chosen_target(const CalibrationTable& table, std::string_view name,
                     const TypeChoices& types);
Target chosen_target(const CalibrationTable& table, const StaticOptions& options);
Target chosen_target(std::string_view name, const WeightChoices& weights);

/// Fills `table.weights` with the scales that quantize() would use, so that they can be seen,
/// changed and converted. Entries that the table already has are kept; their scales are raised
/// where a bias would not fit. If `options` choose other types or another method for weights than
/// the table, the table takes over these choices, and its earlier entries are removed.
void fill_weight_entries(const Graph& prepared, const StaticOptions& options,
                         CalibrationTable& table, const Learned& learned = {});

}  // namespace qtool
