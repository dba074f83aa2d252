#include <algorithm>
#include <utility>

#include "base/name_pattern.h"
#include "base/stop.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/tensor_counterpart.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "qtool/compare/infer.h"
#include "quantize/rewrites/scaled_channels.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

std::vector<ValueId> computed_values(const Graph& graph) {
  std::vector<ValueId> values;
  const auto add = [&](ValueId id) {
    if (id != kNoValue && !graph.is_constant(id)) values.push_back(id);
  };
  for (const ValueId id : graph.inputs()) add(id);
  for (const NodeId node : graph.nodes()) {
    for (const ValueId id : graph.node(node).outputs) add(id);
  }
  return values;
}

/// Gives a separate error for a tensor of the file that prepare() removed. It is not an unknown
/// name.
void refuse_removed(const Graph& graph, std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    const auto alias = graph.info.aliases.find(pattern);
    if (alias == graph.info.aliases.end() || graph.find_value(pattern)) continue;
    throw Error(ErrorCode::kUsage, to_text("tensor '", pattern,
                                           "' is not computed: the node behind it is folded into ",
                                           "its neighbour, whose result is '", alias->second, "'"));
  }
}

std::vector<Tensor> run_observed(const Plan& plan, std::span<const Tensor> sample) {
  std::vector<Tensor> tensors(plan.observed().size());
  Workspace workspace;
  static_cast<void>(plan.run(
      views_of(sample), workspace,
      [&](std::size_t index, const TensorView& tensor) { tensors[index] = to_tensor(tensor); }));
  return tensors;
}

std::int64_t bytes_of(const PortInfo& info) { return info.shape.elements() * size_of(info.dtype); }

}  // namespace

TensorPairs::TensorPairs(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
                         std::span<const std::string> patterns, const TensorPairOptions& options)
    : stop_(options.stop) {
  const Graph& graph = fp32.graph();
  const std::vector<ValueId> values = computed_values(graph);
  std::vector<std::string> names;
  for (const ValueId id : values) names.push_back(graph.value(id).name);
  refuse_removed(graph, patterns);
  CompileOptions compile;
  compile.threads = options.threads;
  compile.requantization = options.requantization;
  const ScaledChannels scaled =
      int8 != nullptr ? scaled_channels_of(int8->graph()) : ScaledChannels();
  CompileOptions integers = compile;
  CompileOptions floats = compile;
  for (const std::size_t i : match_names(names, patterns, "tensor")) {
    compile.observe.push_back(names[i]);
    Source source;
    source.name = names[i];
    const NodeId producer = graph.value(values[i]).producer;
    if (producer != kNoNode) source.op_type = graph.node(producer).op_type;
    const ChannelScaling* scaling = scaled.find(source.name);
    if (scaling != nullptr) {
      source.channel_axis = scaling->axis;
      source.factors = scaling->factors;
    }
    // A tensor whose elements were divided by separate factors is not compared.
    if (int8 != nullptr && (scaling == nullptr || !scaling->factors.empty())) {
      if (std::optional<Counterpart> found = counterpart_of(int8->graph(), source.name, graph)) {
        std::vector<std::string>& observe = found->affines ? integers.observe : floats.observe;
        source.index = observe.size();
        source.int8_name = found->name;
        source.affines = std::move(found->affines);
        observe.push_back(source.int8_name);
      }
    }
    sources_.push_back(std::move(source));
  }
  // This also checks that the models belong together.
  const ModelPair pair =
      compile_pair(fp32, int8, shapes_of(sample), options.threads, options.requantization);
  fp32_ = fp32.compile(input_shapes(*pair.fp32), compile);
  if (int8 == nullptr) return;
  const InputShapes shapes = input_shapes(*pair.int8);
  if (!integers.observe.empty()) integers_ = int8->compile(shapes, integers);
  if (!floats.observe.empty()) floats_ = int8->compile(shapes, floats);
}

std::int64_t TensorPairs::bytes() const {
  std::int64_t bytes = 0;
  for (const PortInfo& info : fp32_->observed()) bytes += bytes_of(info);
  if (integers_ != nullptr) {
    for (const PortInfo& info : integers_->observed()) {
      bytes += bytes_of(info) + info.shape.elements() * size_of(DType::kFloat32);
    }
  }
  if (floats_ != nullptr) {
    for (const PortInfo& info : floats_->observed()) bytes += bytes_of(info);
  }
  return bytes;
}

std::vector<TensorPair> TensorPairs::run(std::span<const Tensor> sample) const {
  std::vector<Tensor> fp32 = run_observed(*fp32_, sample);
  check_stop(stop_);
  std::vector<Tensor> integers;
  std::vector<Tensor> floats;
  if (integers_ != nullptr) integers = run_observed(*integers_, sample);
  check_stop(stop_);
  if (floats_ != nullptr) floats = run_observed(*floats_, sample);
  std::vector<TensorPair> pairs;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    check_stop(stop_);
    const Source& source = sources_[i];
    TensorPair pair;
    pair.name = source.name;
    pair.op_type = source.op_type;
    pair.fp32 = std::move(fp32[i]);
    pair.int8_name = source.int8_name;
    if (source.affines) {
      pair.integers = std::move(integers[source.index]);
      pair.affines = *source.affines;
      pair.int8 = dequantized(*pair.integers, pair.affines, source.int8_name);
    } else if (!source.int8_name.empty()) {
      pair.int8 = std::move(floats[source.index]);
    }
    if (pair.int8 && pair.int8->shape() != pair.fp32.shape()) {
      throw Error(ErrorCode::kMismatch,
                  to_text("tensor '", source.name, "' of the FP32 model has shape ",
                          pair.fp32.shape().to_string(), ", of the INT8 model ",
                          pair.int8->shape().to_string(), "; do they belong together?"));
    }
    if (pair.int8 && !source.factors.empty()) {
      scale_channels(*pair.int8, source.name, {source.channel_axis, source.factors},
                     pair.int8->values<float>().data());
    }
    if (pair.int8) {
      const TensorView both[] = {pair.fp32, *pair.int8};
      const FloatOutputs values(both);
      pair.sqnr_db = sqnr_db(values[0], values[1]);
      pair.max_abs_error = max_abs_error(values[0], values[1]);
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace qtool
