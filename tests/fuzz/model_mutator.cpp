// Mutates ONNX models so that they can still be parsed, because bytes that the parser refuses do
// not test the code after it. Linked into every target whose input is a model.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "graph/arity.h"
#include "graph/onnx/defs.h"
#include "graph/passes/passes.h"
#include "model_nesting.h"
#include "model_parts.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace qtool::fuzz {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

NodeProto* any_node(Random& random, GraphProto& graph) {
  if (graph.node_size() == 0) return nullptr;
  return graph.mutable_node(static_cast<int>(random.below(std::size_t(graph.node_size()))));
}

// Adds a reader of `name`: a node reads it in place of one of its operands, or it becomes an output
// of the graph.
void connect(Random& random, GraphProto& graph, const std::string& name) {
  NodeProto* reader = any_node(random, graph);
  if (reader == nullptr || reader->input_size() == 0 || random.one_in(3)) {
    if (graph.output_size() > 0 && !random.one_in(3)) {
      graph.mutable_output(static_cast<int>(random.below(std::size_t(graph.output_size()))))
          ->set_name(name);
    } else {
      graph.add_output()->set_name(name);
    }
    return;
  }
  reader->set_input(static_cast<int>(random.below(std::size_t(reader->input_size()))), name);
}

std::string add_initializer(Random& random, GraphProto& graph) {
  TensorProto& tensor = *graph.add_initializer();
  random_tensor(random, tensor);
  tensor.set_name(new_name(random));
  return tensor.name();
}

void add_node(Random& random, GraphProto& graph) {
  const OperatorUse& use = random.pick(known_operators());
  NodeProto node;
  node.set_op_type(use.op_type);
  std::int64_t inputs =
      random.between(use.least_inputs, std::max(use.least_inputs, use.most_inputs));
  if (random.one_in(16)) inputs = random.between(0, 6);
  for (std::int64_t i = 0; i < inputs; ++i) {
    const bool constant = i > 0 && random.one_in(3);
    node.add_input(constant ? add_initializer(random, graph) : any_name(random, graph));
  }
  std::int64_t outputs =
      random.between(std::max(1, use.least_outputs), std::max(1, use.most_outputs));
  if (random.one_in(16)) outputs = random.between(0, 3);
  for (std::int64_t i = 0; i < outputs; ++i) {
    node.add_output(i > 0 && random.one_in(4) ? std::string() : new_name(random));
  }
  for (std::int64_t i = random.between(0, 2); i > 0 && !use.attributes.empty(); --i) {
    random_attribute(random, use.op_type, *node.add_attribute());
  }
  if (node.output_size() > 0 && !node.output(0).empty()) connect(random, graph, node.output(0));
  *graph.add_node() = std::move(node);
}

// Removes a node; its readers read its input instead.
void remove_node(Random& random, GraphProto& graph) {
  if (graph.node_size() == 0) return;
  const int at = static_cast<int>(random.below(std::size_t(graph.node_size())));
  const NodeProto node = graph.node(at);
  graph.mutable_node()->DeleteSubrange(at, 1);
  if (node.input_size() == 0 || node.output_size() == 0) return;
  for (NodeProto& reader : *graph.mutable_node()) {
    for (std::string& input : *reader.mutable_input()) {
      if (input == node.output(0)) input = node.input(0);
    }
  }
  for (auto& output : *graph.mutable_output()) {
    if (output.name() == node.output(0)) output.set_name(node.input(0));
  }
}

void change_operator(Random& random, GraphProto& graph) {
  NodeProto* node = any_node(random, graph);
  if (node == nullptr) return;
  node->set_op_type(random.pick(known_operators()).op_type);
  if (random.one_in(64)) node->set_domain(random.one_in(2) ? "ai.onnx" : "com.microsoft");
  if (!random.one_in(8)) return;
  node->set_op_type(std::string(random.pick(microsoft_operators()).op_type));
  node->set_domain("com.microsoft");
}

void change_operands(Random& random, GraphProto& graph) {
  NodeProto* node = any_node(random, graph);
  if (node == nullptr) return;
  auto& operands = random.one_in(6) ? *node->mutable_output() : *node->mutable_input();
  const auto place = [&] { return static_cast<int>(random.below(std::size_t(operands.size()))); };
  switch (operands.empty() ? 0 : random.below(4)) {
    case 0:
      *operands.Add() = any_name(random, graph);
      break;
    case 1:
      operands.RemoveLast();
      break;
    case 2:
      operands.SwapElements(place(), place());
      break;
    default:
      *operands.Mutable(place()) = any_name(random, graph);
  }
}

void change_attribute(Random& random, GraphProto& graph) {
  NodeProto* node = any_node(random, graph);
  if (node == nullptr) return;
  auto& attributes = *node->mutable_attribute();
  if (attributes.empty() || random.one_in(3)) {
    random_attribute(random, node->op_type(), *attributes.Add());
    return;
  }
  const int at = static_cast<int>(random.below(std::size_t(attributes.size())));
  if (random.one_in(4)) {
    attributes.DeleteSubrange(at, 1);
  } else if (attributes[at].ints_size() > 0 && random.one_in(2)) {
    onnx::AttributeProto& list = attributes[at];
    list.set_ints(static_cast<int>(random.below(std::size_t(list.ints_size()))),
                  random_int(random));
  } else {
    random_value(random, attributes[at]);
  }
}

void change_port(Random& random, GraphProto& graph) {
  auto& ports = random.one_in(4) ? *graph.mutable_output() : *graph.mutable_input();
  if (ports.empty() || random.one_in(12)) {
    ports.Add()->set_name(random.one_in(2) ? new_name(random) : any_name(random, graph));
  }
  auto& port = ports[static_cast<int>(random.below(std::size_t(ports.size())))];
  if (random.one_in(6)) port.set_name(any_name(random, graph));
  auto& type = *port.mutable_type()->mutable_tensor_type();
  if (random.one_in(3) || type.elem_type() == 0) type.set_elem_type(random_type(random));
  auto& dims = *type.mutable_shape()->mutable_dim();
  switch (dims.empty() ? 0 : random.below(4)) {
    case 0:
      dims.Add()->set_dim_value(random_extent(random));
      break;
    case 1:
      dims.RemoveLast();
      break;
    default: {
      auto& dim = dims[static_cast<int>(random.below(std::size_t(dims.size())))];
      if (random.one_in(4)) {
        dim.set_dim_param("N");
      } else {
        dim.set_dim_value(random_extent(random));
      }
    }
  }
}

void change_initializer(Random& random, GraphProto& graph) {
  if (graph.initializer_size() == 0) {
    connect(random, graph, add_initializer(random, graph));
    return;
  }
  TensorProto& tensor = *graph.mutable_initializer(
      static_cast<int>(random.below(std::size_t(graph.initializer_size()))));
  auto& dims = *tensor.mutable_dims();
  switch (random.below(5)) {
    case 0:
      tensor.set_data_type(random_type(random));
      break;
    case 1:
      dims.Add(random_extent(random));
      break;
    case 2:
      if (!dims.empty()) dims.RemoveLast();
      break;
    case 3:
      if (!dims.empty()) {
        dims[static_cast<int>(random.below(std::size_t(dims.size())))] = random_extent(random);
      }
      break;
    default: {
      std::string& bytes = *tensor.mutable_raw_data();
      if (bytes.empty()) break;
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      return;  // the rest of the values stay
    }
  }
  fill(random, tensor);
}

// Puts QuantizeLinear and DequantizeLinear before an operand, so that integer kernels are used.
void quantize_operand(Random& random, GraphProto& graph) {
  NodeProto* reader = any_node(random, graph);
  if (reader == nullptr || reader->input_size() == 0) return;
  const int operand = static_cast<int>(random.below(std::size_t(reader->input_size())));
  const std::string source = reader->input(operand);
  const std::string real = new_name(random);
  reader->set_input(operand, real);
  TensorProto& scale = *graph.add_initializer();
  scale.set_name(new_name(random));
  scale.set_data_type(TensorProto::FLOAT);
  const float step = random.one_in(8) ? random_float(random) : 0.05F;
  scale.add_float_data(step);
  TensorProto& zero = *graph.add_initializer();
  zero.set_name(new_name(random));
  zero.set_data_type(random.one_in(3) ? TensorProto::INT8 : TensorProto::UINT8);
  zero.add_int32_data(static_cast<std::int32_t>(random.one_in(2) ? 0 : random.below(128)));
  const std::string integers = random.one_in(8) ? source : new_name(random);
  NodeProto pair;
  pair.set_op_type("DequantizeLinear");
  pair.add_input(integers);
  pair.add_input(scale.name());
  pair.add_input(zero.name());
  pair.add_output(real);
  *graph.add_node() = pair;
  if (integers == source) return;
  pair.set_op_type("QuantizeLinear");
  pair.set_input(0, source);
  pair.set_output(0, integers);
  *graph.add_node() = std::move(pair);
}

void change_model(Random& random, ModelProto& model) {
  if (random.one_in(2)) {
    model.set_model_version(static_cast<std::int64_t>(random.below(1U << 20U)));
    return;
  }
  if (model.opset_import_size() == 0) model.add_opset_import();
  model.mutable_opset_import(0)->set_version(random.between(1, 22));
  if (random.one_in(8)) model.set_ir_version(random.between(0, 12));
}

// Removes attributes that their operator does not have in the model's opset: models with such
// attributes are refused at once, and the code after that check would not be tested.
void fit_attributes(GraphProto& graph, int opset) {
  for (NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) fit_attributes(*attribute.mutable_g(), opset);
    }
    const onnx::OpSchema* schema =
        node.domain().empty() ? onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "") : nullptr;
    if (schema == nullptr) continue;
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      if (!schema->attributes().contains(attributes[i].name())) attributes.DeleteSubrange(i, 1);
    }
  }
}

void fit_attributes(ModelProto& model) {
  if (model.opset_import_size() == 0 || model.opset_import(0).version() > kCanonicalOpset) return;
  const auto opset = static_cast<int>(std::max<std::int64_t>(model.opset_import(0).version(), 1));
  fit_attributes(*model.mutable_graph(), opset);
}

using Change = void (*)(Random&, GraphProto&);

// Changes the graph or one of its subgraphs. `outer` has names of tensors in the graphs around it,
// which it may read.
void change_graph(Random& random, GraphProto& graph, Change change,
                  std::vector<std::string> outer = {}) {
  std::vector<GraphProto*> inner;
  for (NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) inner.push_back(attribute.mutable_g());
    }
  }
  if (!inner.empty() && !random.one_in(2)) {
    for (int i = 0; i < 4; ++i) outer.push_back(any_name(random, graph));
    return change_graph(random, *random.pick(inner), change, std::move(outer));
  }
  NodeProto* reader = outer.empty() || !random.one_in(4) ? nullptr : any_node(random, graph);
  if (reader == nullptr || reader->input_size() == 0) return change(random, graph);
  reader->set_input(static_cast<int>(random.below(std::size_t(reader->input_size()))),
                    random.pick(outer));
}

// Changes the nodes of a function as if they were a graph.
void change_function(Random& random, ModelProto& model, Change change) {
  const auto count = static_cast<std::size_t>(model.functions_size());
  auto& nodes = *model.mutable_functions(static_cast<int>(random.below(count)))->mutable_node();
  GraphProto graph;
  graph.mutable_node()->Swap(&nodes);
  change_graph(random, graph, change);
  graph.mutable_node()->Swap(&nodes);
}

void mutate(Random& random, ModelProto& model) {
  static constexpr std::array<Change, 16> kChanges = {
      add_node,        add_node,           remove_node,        change_operator,
      change_operands, change_operands,    change_attribute,   change_attribute,
      change_port,     change_initializer, change_initializer, quantize_operand,
      enclose_in_if,   enclose_in_loop,    add_tail,           change_port};
  for (std::size_t i = 1 + random.below(4); i > 0; --i) {
    if (random.one_in(8)) {
      change_model(random, model);
    } else if (random.one_in(24)) {
      move_to_function(random, model);
    } else if (model.functions_size() > 0 && random.one_in(3)) {
      change_function(random, model, random.pick(kChanges));
    } else {
      change_graph(random, *model.mutable_graph(), random.pick(kChanges));
    }
  }
  if (!random.one_in(8)) fit_attributes(model);
}

std::size_t store(const ModelProto& model, std::uint8_t* out, std::size_t most) {
  const std::size_t size = model.ByteSizeLong();
  if (size == 0 || size > most) return 0;
  return model.SerializeToArray(out, static_cast<int>(size)) ? size : 0;
}

bool parse(ModelProto& model, const std::uint8_t* data, std::size_t size) {
  return model.ParseFromArray(data, static_cast<int>(size)) && model.has_graph();
}

}  // namespace
}  // namespace qtool::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  qtool::fuzz::Random random(seed);
  onnx::ModelProto model;
  if (!random.one_in(32) && qtool::fuzz::parse(model, data, size)) {
    qtool::fuzz::mutate(random, model);
    if (const std::size_t stored = qtool::fuzz::store(model, data, max_size)) return stored;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

// Appends the nodes and constants of the second model to the first model. The inputs of the second
// become tensors of the first.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second,
                                                 std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned int seed) {
  qtool::fuzz::Random random(seed);
  onnx::ModelProto model;
  onnx::ModelProto other;
  const bool parsed = qtool::fuzz::parse(model, first, first_size) &&
                      qtool::fuzz::parse(other, second, second_size);
  if (!parsed) return 0;
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::string prefix = qtool::fuzz::new_name(random);
  std::vector<std::string> inputs;
  for (const auto& input : other.graph().input()) inputs.push_back(input.name());
  for (auto& node : *other.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      const bool open = std::find(inputs.begin(), inputs.end(), name) != inputs.end();
      if (open) {
        name = qtool::fuzz::any_name(random, graph);
      } else if (!name.empty()) {
        name = prefix + name;
      }
    }
  }
  for (auto& node : *other.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_output()) {
      if (!name.empty()) name = prefix + name;
    }
    *graph.add_node() = node;
  }
  for (auto& tensor : *other.mutable_graph()->mutable_initializer()) {
    tensor.set_name(prefix + tensor.name());
    *graph.add_initializer() = tensor;
  }
  for (const auto& output : other.graph().output()) {
    qtool::fuzz::connect(random, graph, prefix + output.name());
  }
  return qtool::fuzz::store(model, out, max_size);
}
