// Writes the seeds of the repository for the fuzz targets that read models: one small model per
// operator, random networks and their integer forms. Also writes the dictionary of operators and
// attributes.
//
// Usage: make_model_seeds CORPUS_FOLDER DICTIONARY_FILE
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "model_parts.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "random_network.h"
#include "support/control_flow_models.h"
#include "support/integer_models.h"
#include "support/parse_onnx.h"
#include "support/quantize_in.h"
#include "support/tail_models.h"

namespace qtool::fuzz {
namespace {

constexpr std::uint64_t kNetworks = 24;
constexpr std::size_t kMaxBytes = 1 << 13;  // larger models slow the fuzzer down

// The inputs and attributes of one operator. `x` is the computed tensor, the other inputs are
// constants.
struct Recipe {
  std::string op_type;
  std::vector<Tensor> constants;  // the inputs after x
  Node::AttributeMap attributes;
  bool of_x = true;  // whether x is the first operand
};

Tensor ints(const std::vector<std::int64_t>& values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::of<std::int64_t>({size}, std::span<const std::int64_t>(values));
}
Tensor reals(const Shape& shape) {
  Random random(static_cast<std::uint64_t>(shape.elements()));
  return random_reals(random, shape);
}
Tensor bytes(const Shape& shape) {
  Tensor tensor(DType::kUInt8, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    tensor.data()[i] = static_cast<std::byte>(37 * i % 256);
  }
  return tensor;
}

using Ints = std::vector<std::int64_t>;

// Operators whose operands or attributes cannot be derived from the schema alone. x is [1, 4, 6,
// 6].
std::vector<Recipe> recipes() {
  const Node::AttributeMap window = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  std::vector<Recipe> list;
  const auto add = [&](std::string op_type, std::vector<Tensor> constants = {},
                       Node::AttributeMap attributes = {}) {
    list.push_back({std::move(op_type), std::move(constants), std::move(attributes)});
  };
  const auto params = [] {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(reals({4}));
    return tensors;
  };
  const auto two = [](Tensor a, Tensor b) {
    std::vector<Tensor> tensors;
    tensors.push_back(std::move(a));
    tensors.push_back(std::move(b));
    return tensors;
  };
  const auto one = [](Tensor a) {
    std::vector<Tensor> tensors;
    tensors.push_back(std::move(a));
    return tensors;
  };
  add("Conv", two(reals({3, 4, 3, 3}), reals({3})), window);
  add("Conv", two(reals({4, 1, 3, 3}), reals({4})), {{"group", std::int64_t{4}}});
  add("ConvTranspose", two(reals({4, 3, 3, 3}), reals({3})),
      {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 0}}});
  add("MaxPool", {}, window);
  add("AveragePool", {}, window);
  add("BatchNormalization", params());
  add("InstanceNormalization", two(reals({4}), reals({4})));
  add("LayerNormalization", two(reals({6}), reals({6})));
  add("LRN", {}, {{"size", std::int64_t{3}}});
  add("MatMul", one(reals({6, 5})));
  add("PRelu", one(reals({4, 1, 1})));
  add("Clip", two(Tensor::scalar(0.0F), Tensor::scalar(1.0F)));
  add("Concat", one(reals({1, 2, 6, 6})), {{"axis", std::int64_t{1}}});
  add("Reshape", one(ints({0, -1, 9})));
  add("Expand", one(ints({2, 4, 6, 6})));
  add("Tile", one(ints({1, 2, 1, 1})));
  add("Pad", one(ints({0, 0, 1, 1, 0, 0, 1, 1})), {{"mode", std::string("reflect")}});
  add("Slice", two(ints({1, 1}), ints({3, 4})));
  add("Gather", one(ints({2, 0, 1})), {{"axis", std::int64_t{1}}});
  add("Squeeze", one(ints({0})));
  add("Unsqueeze", one(ints({0, 3})));
  add("Split", one(ints({1, 3})), {{"axis", std::int64_t{1}}});
  add("TopK", one(ints({2})));
  add("Transpose", {}, {{"perm", Ints{0, 2, 3, 1}}});
  add("Cast", {}, {{"to", std::int64_t{7}}});
  add("DepthToSpace", {}, {{"blocksize", std::int64_t{2}}});
  add("SpaceToDepth", {}, {{"blocksize", std::int64_t{2}}});
  add("Mod", one(reals({6})), {{"fmod", std::int64_t{1}}});
  add("ReduceSum", one(ints({1, 2})));
  add("QuantizeLinear", two(Tensor::scalar(0.1F), Tensor::scalar(std::uint8_t{7})));
  Recipe resize{"Resize", {}, {{"mode", std::string("linear")}}};
  resize.constants.push_back(Tensor(DType::kFloat32, {0}));
  resize.constants.push_back(Tensor::of<float>({4}, {1.0F, 1.0F, 2.0F, 1.5F}));
  list.push_back(std::move(resize));
  // x is an image and not a sequence, so these operators read a constant sequence.
  const auto sequence = [&](std::int64_t gates) {
    std::vector<Tensor> tensors;
    tensors.push_back(reals({3, 2, 4}));
    tensors.push_back(reals({1, gates * 3, 4}));
    tensors.push_back(reals({1, gates * 3, 3}));
    tensors.push_back(reals({1, gates * 6}));
    return tensors;
  };
  for (const auto& [op_type, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    list.push_back({op_type, sequence(gates), {{"hidden_size", std::int64_t{3}}}, false});
  }
  list.push_back({"Gemm", two(reals({3, 4}), reals({4, 5})), {}, false});
  list.push_back({"ConstantOfShape", one(ints({2, 3})), {}, false});
  list.push_back({"DequantizeLinear", two(bytes({2, 3}), Tensor::scalar(0.1F)), {}, false});
  list.push_back({"ConvInteger", two(bytes({1, 2, 5, 5}), bytes({3, 2, 3, 3})), {}, false});
  list.push_back({"MatMulInteger", two(bytes({3, 4}), bytes({4, 2})), {}, false});
  return list;
}

Graph model_of(const Recipe& recipe, std::size_t outputs) {
  Graph graph;
  graph.info.opsets[""] = 17;
  const ValueId x = graph.add_value("x");
  graph.declare(x, DType::kFloat32,
                std::vector<Dim>{{std::nullopt, "N"}, {4, ""}, {6, ""}, {6, ""}});
  graph.add_input(x);
  Node node;
  node.name = "node";
  node.op_type = recipe.op_type;
  if (recipe.of_x) node.inputs.push_back(x);
  for (const Tensor& tensor : recipe.constants) {
    Tensor copy(tensor.dtype(), tensor.shape());
    std::copy_n(tensor.data(), tensor.bytes(), copy.data());
    node.inputs.push_back(graph.add_constant(to_text("c", node.inputs.size()), std::move(copy)));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph.add_value(to_text("y", i)));
  }
  node.attributes = recipe.attributes;
  const std::vector<ValueId> results = node.outputs;
  graph.add_node(std::move(node));
  for (const ValueId id : results) graph.add_output(id);
  return graph;
}

// One of ONNX Runtime's own operators. Each letter of `inputs` stands for one input: `x` is the
// computed tensor, `q` is that tensor as bytes, `-` is an input that is left out, and the other
// letters are constants of microsoft_constant().
struct MicrosoftRecipe {
  std::string op_type;
  std::string_view inputs;
  Node::AttributeMap attributes;
};

std::vector<MicrosoftRecipe> microsoft_recipes() {
  const Attribute one = std::int64_t{1};
  const Node::AttributeMap window = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}};
  Node::AttributeMap last_window = window;
  last_window["channels_last"] = one;
  return {
      {"BiasGelu", "xv", {}},
      {"DequantizeLinear", "qsz", {}},
      {"DynamicQuantizeMatMul", "xks-f", {}},
      {"FastGelu", "xv", {}},
      {"FusedConv", "xwc", {{"activation", std::string("Relu")}, {"pads", Ints{1, 1, 1, 1}}}},
      {"FusedGemm", "gg", {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.1F}}},
      {"FusedMatMul",
       "xx",
       {{"transB", one}, {"transBatchA", one}, {"transBatchB", one}, {"alpha", 0.5F}}},
      {"Gelu", "x", {}},
      {"MatMulIntegerToFloat", "qksszn", {}},
      {"MatMulNBits",
       "xpt",
       {{"K", std::int64_t{6}}, {"N", std::int64_t{2}}, {"block_size", std::int64_t{16}}}},
      {"NhwcMaxPool", "q", window},
      {"QGemm", "mszkuoasz", {}},
      {"QLinearAdd", "qszqszsz", {}},
      {"QLinearAveragePool", "qszsz", last_window},
      {"QLinearConcat", "szqszqsz", {{"axis", one}}},
      {"QLinearConv", "qszisnszb", {{"pads", Ints{1, 1, 1, 1}}}},
      {"QLinearGlobalAveragePool", "qszsz", {{"channels_last", one}}},
      {"QLinearLeakyRelu", "qszsz", {{"alpha", 0.1F}}},
      {"QLinearMul", "qszqszsz", {}},
      {"QLinearSigmoid", "qs-s", {}},
      {"QLinearSoftmax", "qszsz", {{"opset", std::int64_t{11}}}},
      {"QuantizeLinear", "xsz", {}},
      {"QuickGelu", "x", {}},
      {"SkipLayerNormalization", "xxvv", {}},
  };
}

Tensor microsoft_constant(char letter) {
  switch (letter) {
    case 's':
      return Tensor::scalar(0.05F);
    case 'z':
      return Tensor::scalar(std::uint8_t{7});
    case 'n':
      return Tensor::scalar(std::int8_t{0});
    case 'k':
      return Tensor::of<std::int8_t>({6, 2}, {1, -2, 3, -4, 5, 6, -7, 8, 9, 10, -11, 12});
    case 'u':
      return Tensor::of<float>({2}, {0.1F, 0.2F});
    case 'o':
      return Tensor(DType::kInt8, {2});
    case 'a':
      return Tensor::of<std::int32_t>({2}, {300, -5});
    case 'b':  // makes sums wrap
      return Tensor::of<std::int32_t>({3}, {2147483647, -5, 0});
    case 'm':
      return bytes({3, 6});
    case 'p':
      return bytes({2, 1, 8});
    case 'i': {
      const Tensor stored = bytes({3, 4, 3, 3});
      Tensor weights(DType::kInt8, stored.shape());
      std::copy_n(stored.data(), stored.bytes(), weights.data());
      return weights;
    }
    case 'w':
      return reals({3, 4, 3, 3});
    case 'c':
      return reals({3});
    case 'g':
      return reals({4, 4});
    case 'f':
    case 't':
      return reals({2});
    default:
      return reals({6});
  }
}

Graph model_of(const MicrosoftRecipe& recipe) {
  Graph graph;
  graph.info.opsets = {{"", 17}, {"com.microsoft", 1}};
  const ValueId x = graph.add_value("x");
  graph.declare(x, DType::kFloat32, std::vector<Dim>{{1, ""}, {4, ""}, {6, ""}, {6, ""}});
  graph.add_input(x);
  const ValueId q = graph.add_value("q");
  graph.add_node({"quantize",
                  "QuantizeLinear",
                  "",
                  {x, graph.add_constant("s", microsoft_constant('s')),
                   graph.add_constant("z", microsoft_constant('z'))},
                  {q},
                  {}});
  Node node;
  node.name = "node";
  node.op_type = recipe.op_type;
  node.domain = "com.microsoft";
  node.attributes = recipe.attributes;
  for (const char letter : recipe.inputs) {
    ValueId input = kNoValue;
    if (letter == 'x') {
      input = x;
    } else if (letter == 'q') {
      input = q;
    } else if (letter != '-') {
      input = graph.add_constant(to_text("c", node.inputs.size()), microsoft_constant(letter));
    }
    node.inputs.push_back(input);
  }
  const ValueId y = graph.add_value("y");
  node.outputs = {y};
  graph.add_node(std::move(node));
  graph.add_output(y);
  return graph;
}

void write_models(const std::filesystem::path& folder) {
  std::set<std::string> written;
  const auto write = [&](const std::string& name, const Graph& graph) {
    const std::string saved = save_onnx_bytes(graph);
    if (saved.size() > kMaxBytes) return;
    std::string file = name;
    for (int count = 2; !written.insert(file).second; ++count) file = to_text(name, "_", count);
    write_file(folder / (file + ".onnx"), saved);
  };
  for (const Recipe& recipe : recipes()) {
    const OperatorUse* use = find_use(recipe.op_type);
    write(recipe.op_type,
          model_of(recipe, use->op_type == "Split" || use->op_type == "TopK" ? 2 : 1));
  }
  for (const OperatorUse& use : known_operators()) {
    if (written.contains(use.op_type)) continue;
    Recipe recipe{use.op_type, {}, {}};
    for (int i = 1; i < use.least_inputs; ++i) recipe.constants.push_back(reals({6}));
    recipe.of_x = use.most_inputs > 0;
    write(use.op_type, model_of(recipe, static_cast<std::size_t>(std::max(1, use.least_outputs))));
  }
  for (const MicrosoftRecipe& recipe : microsoft_recipes()) {
    write(to_text("microsoft_", recipe.op_type), model_of(recipe));
  }
  for (const TextModel& model : control_flow_models()) {
    write_file(folder / (model.name + ".onnx"), parse_onnx(model.text).SerializeAsString());
  }
  for (const TextModel& model : tail_models()) {
    write_file(folder / (model.name + ".onnx"), parse_onnx(model.text).SerializeAsString());
  }
  for (const TextModel& model : integer_models()) {
    write_file(folder / (model.name + ".onnx"), parse_onnx(model.text).SerializeAsString());
  }
  for (std::uint64_t seed = 1; seed <= kNetworks; ++seed) {
    Graph graph = random_network(seed);
    graph.info.model_version = static_cast<std::int64_t>(seed * 41);
    write(to_text("network_", seed), graph);
    const auto mode = seed % 2 == 0 ? QuantizeMode::kDynamic : QuantizeMode::kWeightOnly;
    const Graph prepared = prepare(random_network(seed));
    write(to_text("integer_", seed), quantize_in(mode, prepared).graph);
  }
}

void write_dictionary(const std::filesystem::path& path) {
  std::set<std::string> words;
  for (const OperatorUse& use : known_operators()) {
    words.insert(use.op_type);
    for (const auto& attribute : use.attributes) words.insert(attribute.name);
  }
  std::string text = "# Operators and attributes of ONNX's schemas; written by make_model_seeds.\n";
  for (const std::string& word : words) text += to_text("\"", word, "\"\n");
  write_file(path, text);
}

}  // namespace
}  // namespace qtool::fuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_model_seeds CORPUS_FOLDER DICTIONARY_FILE\n";
    return 2;
  }
  try {
    qtool::fuzz::write_models(argv[1]);
    qtool::fuzz::write_dictionary(argv[2]);
  } catch (const qtool::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
