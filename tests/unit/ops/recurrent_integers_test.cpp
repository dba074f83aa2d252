// Compares LSTM, GRU and RNN on integers with products that are summed one by one, and with FP32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/recurrent/integers.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/random_floats.h"
#include "support/signal_to_noise.h"
#include "unit/onnx_check.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::HasSubstr;

TEST(SplitRow, HoldsSixteenBitsInTwoBytes) {
  for (const std::int64_t count : {1, 3, 16, 65}) {
    const Tensor row = random_floats({count}, 7, -3.0F, 2.0F);
    std::vector<std::uint8_t> high(static_cast<std::size_t>(count));
    std::vector<std::uint8_t> low(high.size());
    const float scale = split_row(row.values<float>().data(), count, high.data(), low.data());
    float largest = 0.0F;
    for (const float x : row.values<float>()) largest = std::max(largest, std::abs(x));
    EXPECT_EQ(scale, largest / 32767.0F);
    for (std::size_t i = 0; i < high.size(); ++i) {
      const int q = 256 * high[i] + low[i] - 32768;
      EXPECT_EQ(q, std::nearbyint(row.values<float>()[i] * (32767.0F / largest))) << i;
      EXPECT_LE(std::abs(q), 32767);
    }
  }
}

TEST(SplitRow, GivesZeroForTinyRowsAndNanForBrokenOnes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto scale_of = [](std::vector<float> row) {
    std::vector<std::uint8_t> high(row.size());
    std::vector<std::uint8_t> low(row.size());
    const float scale = split_row(row.data(), std::ssize(row), high.data(), low.data());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (scale > 0.0F) continue;
      EXPECT_EQ(256 * high[i] + low[i], 32768);
    }
    return scale;
  };
  EXPECT_EQ(scale_of({0.0F, -0.0F}), 0.0F);
  EXPECT_EQ(scale_of({1e-38F, -1e-40F}), 0.0F);
  EXPECT_TRUE(std::isnan(scale_of({1.0F, std::nanf("")})));
  EXPECT_TRUE(std::isnan(scale_of({-kInfinity, 1.0F})));
  EXPECT_GT(scale_of({3e38F, 0.0F}), 0.0F);
}

struct RecurrentLayer {
  std::string op_type = "LSTM";
  std::string direction = "forward";
  std::int64_t layout = 0;
  std::int64_t steps = 6;
  std::int64_t batch = 3;
  std::int64_t inputs = 11;
  std::int64_t hidden = 7;
  bool lengths = false;
  bool after = false;  // linear_before_reset
  std::string activation{};

  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  [[nodiscard]] std::int64_t rows() const {
    return (op_type == "LSTM" ? 4 : op_type == "GRU" ? 3 : 1) * hidden;
  }
  [[nodiscard]] Shape shape_of_x() const {
    return layout == 0 ? Shape{steps, batch, inputs} : Shape{batch, steps, inputs};
  }
};

Attribute strings(const std::string& text, std::int64_t count) {
  return std::vector<std::string>(static_cast<std::size_t>(count), text);
}

// The layer in FP32; its output is `y`.
Net recurrent_network(const RecurrentLayer& l) {
  Net net;
  const auto dims = l.shape_of_x().dims();
  net.input("x", {dims[0], dims[1], dims[2]});
  net.constant("w", random_floats({l.directions(), l.rows(), l.inputs}, 1));
  net.constant("r", random_floats({l.directions(), l.rows(), l.hidden}, 2, -0.5F, 0.5F));
  net.constant("b", random_floats({l.directions(), 2 * l.rows()}, 3, -0.3F, 0.3F));
  const Shape state = l.layout == 0 ? Shape{l.directions(), l.batch, l.hidden}
                                    : Shape{l.batch, l.directions(), l.hidden};
  net.constant("h0", random_floats(state, 4));
  std::string lengths;
  if (l.lengths) {
    lengths = net.constant("lengths", Tensor::of<std::int32_t>({3}, {5, 0, 6}));
  }
  std::map<std::string, Attribute, std::less<>> attributes{{"hidden_size", l.hidden},
                                                           {"direction", l.direction}};
  if (l.layout != 0) attributes["layout"] = l.layout;
  if (l.after) attributes["linear_before_reset"] = std::int64_t{1};
  if (!l.activation.empty()) attributes["activations"] = strings(l.activation, l.directions());
  net.output(net.op(l.op_type, "layer", {"x", "w", "r", "b", lengths, "h0"}, attributes));
  return net;
}

struct RunResult {
  std::vector<float> values;
  bool integer = false;
};

RunResult run_recurrent(const Graph& graph, const Tensor& x, int threads = 1,
                        Lowering lowering = Lowering::kInteger) {
  const Executor executor(prepare(graph));
  CompileOptions options;
  options.threads = threads;
  options.lowering = lowering;
  const auto plan = executor.compile({}, options);
  Workspace workspace;
  const TensorView view = x;
  const auto out = plan->run({&view, 1}, workspace)[0].values<float>();
  RunResult result{{out.begin(), out.end()}, false};
  for (const StepInfo& step : plan->steps()) {
    if (step.node == "layer") result.integer = step.integer;
  }
  return result;
}

Quantized in_static_mode(const Net& net, const std::string& target = "cpu") {
  CalibrationTable table;
  for (const std::string& tensor : tensors_to_calibrate(net.graph, find_target(target))) {
    ActivationEntry& entry = table.activations.emplace_back();
    entry.tensor = tensor;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, find_target(target).activations);
  }
  StaticOptions options;
  options.target = target;
  return quantize(net.graph, table, options);
}

Graph in_dynamic_mode(const Net& net, DynamicLstm lstm = DynamicLstm::kStandard) {
  DynamicOptions options;
  options.lstm = lstm;
  return quantize(net.graph, options).graph;
}

std::vector<RecurrentLayer> all_layers() {
  std::vector<RecurrentLayer> layers;
  for (const char* op_type : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      RecurrentLayer layer;
      layer.op_type = op_type;
      layer.direction = direction;
      layers.push_back(layer);
      layer.lengths = true;
      layers.push_back(layer);
      layer.layout = 1;
      layers.push_back(layer);
    }
  }
  RecurrentLayer after;
  after.op_type = "GRU";
  after.after = true;
  layers.push_back(after);
  return layers;
}

// If its activation is the identity, a layer's outputs are its sums. They are computed here in the
// order of the definition, products one by one.
std::vector<float> sums_one_by_one(const Graph& quantized, const RecurrentLayer& l,
                                   const Tensor& x) {
  const auto of = [&](const std::string& name) -> const Tensor& {
    return *quantized.value(quantized.find_value(name).value()).constant;
  };
  const auto w = of("w_q").values<std::int8_t>();
  const auto r = of("r_q").values<std::int8_t>();
  const auto ws = of("w_s").values<float>();
  const auto rs = of("r_s").values<float>();
  const auto b = of("b").values<float>();
  const auto h0 = of("h0").values<float>();
  const Affine affine = choose_affine({-1.0F, 1.0F}, find_target("cpu").activations);
  std::vector<float> y(static_cast<std::size_t>(l.steps * l.directions() * l.batch * l.hidden));
  for (std::int64_t d = 0; d < l.directions(); ++d) {
    for (std::int64_t n = 0; n < l.batch; ++n) {
      std::vector<float> h(h0.begin() + (d * l.batch + n) * l.hidden,
                           h0.begin() + (d * l.batch + n + 1) * l.hidden);
      for (std::int64_t i = 0; i < l.steps; ++i) {
        const std::int64_t t = d == 1 || l.direction == "reverse" ? l.steps - 1 - i : i;
        float largest = 0.0F;
        for (const float value : h) largest = std::max(largest, std::abs(value));
        std::vector<float> next;
        for (std::int64_t c = 0; c < l.hidden; ++c) {
          std::int64_t input = 0;
          for (std::int64_t k = 0; k < l.inputs; ++k) {
            const float real =
                x.values<float>()[static_cast<std::size_t>((t * l.batch + n) * l.inputs + k)];
            input += (quantize_value(real, affine, {0, 255}) - affine.zero_point) *
                     w[static_cast<std::size_t>((d * l.hidden + c) * l.inputs + k)];
          }
          std::int64_t high = 0;
          std::int64_t low = 0;
          for (std::int64_t k = 0; k < l.hidden; ++k) {
            const auto q = static_cast<std::int64_t>(
                std::nearbyint(h[static_cast<std::size_t>(k)] * (32767.0F / largest)));
            const std::int64_t weight =
                r[static_cast<std::size_t>((d * l.hidden + c) * l.hidden + k)];
            high += ((q + 32768) / 256 - 128) * weight;
            low += (q + 32768) % 256 * weight;
          }
          const auto at = static_cast<std::size_t>(c);
          const float from_hidden = (static_cast<float>(high) * 256.0F + static_cast<float>(low)) *
                                    (largest / 32767.0F * rs[at]);
          const float from_input = static_cast<float>(input) * (ws[at] * affine.scale);
          const float bias = b[static_cast<std::size_t>(d * 2 * l.hidden + c)] +
                             b[static_cast<std::size_t>(d * 2 * l.hidden + l.hidden + c)];
          next.push_back(from_hidden + (from_input + bias));
        }
        h = next;
        std::copy(h.begin(), h.end(),
                  y.begin() + ((t * l.directions() + d) * l.batch + n) * l.hidden);
      }
    }
  }
  return y;
}

TEST(RecurrentIntegers, EqualSumsOfProductsOneByOne) {
  for (const auto& [inputs, hidden] : {std::pair(1, 1), {11, 7}, {64, 16}, {33, 70}, {200, 130}}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      RecurrentLayer layer;
      layer.op_type = "RNN";
      layer.activation = "Affine";  // the identity
      layer.direction = direction;
      layer.inputs = inputs;
      layer.hidden = hidden;
      layer.steps = 3;
      const Net net = recurrent_network(layer);
      const Graph quantized = in_static_mode(net).graph;
      const Tensor x = random_floats(layer.shape_of_x(), 9, -1.2F, 1.2F);
      for (const int threads : {1, 3}) {
        const RunResult result = run_recurrent(quantized, x, threads);
        EXPECT_TRUE(result.integer);
        EXPECT_EQ(result.values, sums_one_by_one(quantized, layer, x))
            << direction << " " << inputs << " " << hidden << " " << threads;
      }
    }
  }
}

// The same model with products in FP32 does not round the hidden state. Rounding it to 16 bits
// loses little.
TEST(RecurrentIntegers, LoseLittleAgainstProductsInFp32) {
  for (const RecurrentLayer& layer : all_layers()) {
    const Net net = recurrent_network(layer);
    const Tensor x = random_floats(layer.shape_of_x(), 9);
    const std::vector<float> real = run_recurrent(net.graph, x).values;
    for (const Graph& quantized : {in_static_mode(net).graph, in_dynamic_mode(net)}) {
      const RunResult integer = run_recurrent(quantized, x);
      EXPECT_TRUE(integer.integer);
      const RunResult reference = run_recurrent(quantized, x, 1, Lowering::kReference);
      EXPECT_FALSE(reference.integer);
      EXPECT_GT(signal_to_noise(reference.values, integer.values), 75.0)
          << layer.op_type << " " << layer.direction << " " << layer.layout;
      EXPECT_GT(signal_to_noise(real, integer.values), 28.0)
          << layer.op_type << " " << layer.direction;
      EXPECT_EQ(run_recurrent(quantized, x, 4).values, integer.values);
    }
  }
}

TEST(RecurrentIntegers, GiveASequenceTheSameWhateverElseIsInTheBatch) {
  for (const char* op_type : {"LSTM", "GRU", "RNN"}) {
    RecurrentLayer three;
    three.op_type = op_type;
    RecurrentLayer one = three;
    one.batch = 1;
    const Net together = recurrent_network(three);
    Net alone = recurrent_network(one);
    const Tensor x = random_floats(three.shape_of_x(), 9);
    const std::vector<float> all = run_recurrent(in_static_mode(together).graph, x).values;
    Tensor x0(DType::kFloat32, one.shape_of_x());
    for (std::int64_t t = 0; t < three.steps; ++t) {
      std::copy_n(x.values<float>().begin() + t * 3 * three.inputs, three.inputs,
                  x0.values<float>().begin() + t * three.inputs);
    }
    Tensor h0(DType::kFloat32, {1, 1, three.hidden});
    std::copy_n(together.graph.value(together.id("h0")).constant->values<float>().begin(),
                three.hidden, h0.values<float>().begin());
    alone.graph.set_constant(alone.id("h0"), std::make_shared<const Tensor>(std::move(h0)));
    const std::vector<float> first = run_recurrent(in_static_mode(alone).graph, x0).values;
    for (std::int64_t t = 0; t < three.steps; ++t) {
      for (std::int64_t i = 0; i < three.hidden; ++i) {
        EXPECT_EQ(all[static_cast<std::size_t>(t * 3 * three.hidden + i)],
                  first[static_cast<std::size_t>(t * three.hidden + i)]);
      }
    }
  }
}

TEST(StaticMode, StoresBothWeightsOfRecurrentLayersAndQuantizesTheirInput) {
  RecurrentLayer layer;
  layer.inputs = 60;
  layer.hidden = 50;
  const Net net = recurrent_network(layer);
  for (const char* target : {"cpu", "qtool"}) {
    const Quantized quantized = in_static_mode(net, target);
    EXPECT_EQ(quantized.report.find("layer")->role, NodeRole::kInteger);
    EXPECT_EQ(quantized.report.weight_bytes, 200 * (60 + 50));
    EXPECT_EQ(quantized.report.quantized_tensors, 1);
    const Node& lstm = quantized.graph.node(node_named(quantized.graph, "layer"));
    for (const std::size_t input : {0U, 1U, 2U}) {
      const NodeId producer = quantized.graph.value(lstm.inputs[input]).producer;
      EXPECT_TRUE(quantized.graph.node(producer).is("DequantizeLinear")) << input;
    }
    EXPECT_TRUE(quantized.graph.is_constant(lstm.inputs[3]));  // biases stay as they are
    EXPECT_EQ(complaint_of_checker(save_onnx_bytes(quantized.graph)), "");
    EXPECT_THAT(quantized.report.uncorrected_layers, testing::ElementsAre("layer"));
  }
}

TEST(StaticMode, LeavesRecurrentLayersOfComputedWeightsInFp32) {
  Net net;
  net.input("x", {5, 1, 4});
  net.input("w", {1, 3, 4});
  net.constant("r", random_floats({1, 3, 3}, 2));
  net.output(net.op("RNN", "rnn", {"x", "w", "r"}, {{"hidden_size", std::int64_t{3}}}));
  const Placement placement = place(net.graph, find_target("cpu"));
  EXPECT_EQ(placement.nodes.front().reason,
            "its weights are not two constants of rank 3 with the same rows");
}

TEST(DynamicMode, MeasuresTheInputOfRecurrentLayers) {
  for (const char* op_type : {"LSTM", "GRU", "RNN"}) {
    RecurrentLayer layer;
    layer.op_type = op_type;
    layer.inputs = layer.hidden = 40;
    const Graph quantized = in_dynamic_mode(recurrent_network(layer));
    EXPECT_EQ(count_ops(quantized, "DynamicQuantizeLinear"), 1U);
    EXPECT_EQ(count_ops(quantized, "DequantizeLinear"), 3U);
    EXPECT_EQ(complaint_of_checker(save_onnx_bytes(quantized)), "");
  }
}

// The two forms of the LSTM have the same arithmetic.
TEST(DynamicMode, WritesTheLstmOfOnnxRuntimeWhereAsked) {
  for (const char* direction : {"forward", "bidirectional"}) {
    RecurrentLayer layer;
    layer.direction = direction;
    layer.lengths = true;
    const Net net = recurrent_network(layer);
    const Graph asked = in_dynamic_mode(net, DynamicLstm::kMicrosoft);
    EXPECT_EQ(count_ops(asked, "DynamicQuantizeLSTM"), 1U);
    EXPECT_EQ(asked.info.opsets.at("com.microsoft"), 1);
    const Graph read = load_onnx_bytes(save_onnx_bytes(asked), "", "asked");
    const Tensor x = random_floats(layer.shape_of_x(), 9);
    const RunResult integer = run_recurrent(read, x);
    EXPECT_TRUE(integer.integer);
    EXPECT_EQ(integer.values, run_recurrent(in_dynamic_mode(net), x).values);
  }
  RecurrentLayer batch_first;
  batch_first.layout = 1;
  const Graph kept = in_dynamic_mode(recurrent_network(batch_first), DynamicLstm::kMicrosoft);
  EXPECT_EQ(count_ops(kept, "LSTM"), 1U);
}

}  // namespace
}  // namespace qtool
