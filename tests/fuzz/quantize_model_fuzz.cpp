// Any prepared model is quantized, or an Error says why not. The emitted model can be written, read
// and prepared, and it runs if the original model runs. The version number of the model selects the
// mode, the target and the types, so mutating the model also varies these.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/stop.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "small_run.h"

namespace {

using qtool::QuantizeMode;
using qtool::StaticOptions;

constexpr std::array kModes = {QuantizeMode::kStatic, QuantizeMode::kStatic, QuantizeMode::kDynamic,
                               QuantizeMode::kWeightOnly};

// Takes the next choice from `number`, which it divides by `choices`.
std::size_t take(std::uint64_t& number, std::size_t choices) {
  const std::size_t choice = number % choices;
  number /= choices;
  return choice;
}

struct Choices {
  QuantizeMode mode;
  StaticOptions options;
};

Choices choices_of(std::uint64_t number) {
  Choices choices;
  choices.mode = kModes[take(number, kModes.size())];
  StaticOptions& options = choices.options;
  const auto targets = qtool::targets();
  options.target = targets[take(number, targets.size())].name;
  if (take(number, 4) == 3) options.types.weight_bits = 2 + static_cast<int>(take(number, 7));
  if (take(number, 4) == 3) options.types.activation_bits = 2 + static_cast<int>(take(number, 7));
  if (take(number, 4) == 3) options.types.weight_granularity = qtool::Granularity::kPerTensor;
  if (take(number, 4) == 3) options.types.weight_symmetry = qtool::Symmetry::kAsymmetric;
  if (take(number, 4) == 3) options.types.activation_dtype = qtool::DType::kInt8;
  if (take(number, 4) == 3) options.types.weight_method = "mse";
  if (take(number, 4) == 3) options.types.winograd_bits = 6;
  if (take(number, 4) == 3) options.bias_correction = qtool::BiasCorrection::kOff;
  if (take(number, 3) == 2) options.rewrites = {"equalize"};
  if (take(number, 2) == 1) options.types.weight_pairs = qtool::WeightPairs::kLimited;
  return choices;
}

// Made-up ranges that depend on the name alone; one tensor in eight has a degenerate range, and one
// in sixteen is missing in the table.
qtool::CalibrationTable table_of(const qtool::Graph& graph, const StaticOptions& options) {
  qtool::CalibrationTable table;
  table.method = "minmax";
  table.model_fingerprint = qtool::fingerprint(graph);
  const qtool::Target target = qtool::chosen_target(table, options);
  for (const std::string& tensor : qtool::tensors_to_calibrate(graph, target)) {
    std::uint64_t dice = qtool::hash_bytes(tensor);
    if (take(dice, 16) == 0) continue;
    qtool::ActivationEntry entry;
    entry.tensor = tensor;
    entry.method = table.method;
    entry.range.max = static_cast<float>(1 + take(dice, 64)) / 8.0F;
    entry.range.min = take(dice, 2) == 0 ? 0.0F : -entry.range.max / 2.0F;
    if (take(dice, 8) == 0) {
      entry.range = {};
      entry.degenerate = qtool::Degenerate::kAllZero;
    }
    entry.dtype = target.activations.dtype;
    entry.affine = qtool::choose_affine(entry.range, target.activations);
    entry.observed = {entry.range.min, entry.range.max, 0.25, 1.0, 1000, 10, {}};
    entry.observed.channel_means.assign(take(dice, 5), 0.25F);
    for (std::size_t c = 0; c < entry.observed.channel_means.size(); ++c) {
      entry.observed.channel_mins.push_back(entry.range.min / static_cast<float>(c + 1));
      entry.observed.channel_maxs.push_back(entry.range.max / static_cast<float>(c + 1));
    }
    table.activations.push_back(std::move(entry));
  }
  return table;
}

// The reason why the graph cannot be prepared or does not run; an empty string if it runs. Returns
// no value if its inputs are not small, because there may not be enough memory, or if it runs for
// long.
std::optional<std::string> problem_of(qtool::Graph graph, const qtool::StopCheck& stop) {
  bool is_small = true;
  try {
    graph = qtool::prepare(std::move(graph), stop);
    const qtool::InputShapes shapes = qtool::fuzz::closed_shapes(graph);
    for (const auto& [name, shape] : shapes) {
      is_small = is_small && shape.elements() <= qtool::fuzz::kMaxElements;
    }
    const qtool::Executor executor(std::move(graph), stop);
    qtool::fuzz::run_small(executor, shapes);
    return is_small ? std::optional<std::string>("") : std::nullopt;
  } catch (const qtool::Error& error) {
    const bool is_known = is_small && error.code() != qtool::ErrorCode::kCancelled;
    return is_known ? std::optional<std::string>(error.what()) : std::nullopt;
  }
}

qtool::Graph load_emitted(const std::string& bytes) {
  try {
    return qtool::load_onnx_bytes(bytes, "", "emitted");
  } catch (const qtool::Error& error) {
    std::fprintf(stderr, "what was emitted does not load: %s\n", error.what());
    std::abort();
  }
}

void check(std::string_view bytes) {
  const qtool::StopCheck stop = qtool::fuzz::stop_soon();
  const qtool::StopScope scope(stop);  // of quantize()
  const qtool::Graph graph = qtool::prepare(qtool::load_onnx_bytes(bytes, "", "fuzz"), stop);
  const auto choices = static_cast<std::uint64_t>(graph.info.model_version);
  const auto [mode, options] = choices_of(choices);
  std::string emitted;
  if (mode == QuantizeMode::kStatic) {
    qtool::CalibrationTable table = table_of(graph, options);
    if (choices % 5 == 4) qtool::fill_weight_entries(graph, options, table);
    emitted = qtool::save_onnx_bytes(qtool::quantize(graph, table, options).graph);
  } else {
    const qtool::WeightChoices weights{options.types.weight_bits, options.types.weight_method,
                                       options.types.weight_pairs};
    emitted = qtool::save_onnx_bytes(
        (mode == QuantizeMode::kDynamic
             ? qtool::quantize(
                   graph, qtool::DynamicOptions{options, weights,
                                                choices % 3 == 0 ? qtool::DynamicLstm::kMicrosoft
                                                                 : qtool::DynamicLstm::kStandard})
             : qtool::quantize(graph, qtool::WeightOnlyOptions{options, weights}))
            .graph);
  }
  // Only a model that runs is compared. Any other may contain a contradiction that shows in only
  // one of the two models.
  const std::optional<std::string> problem = problem_of(load_emitted(emitted), stop);
  if (!problem || problem->empty() || problem_of(graph, stop) != "") return;
  std::fprintf(stderr, "the model runs, what was emitted does not: %s\n", problem->c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const qtool::Error&) {
  }
  return 0;
}
