#include "unit/run_op.h"

#include <cstring>
#include <stdexcept>

#include "ops/strides.h"
#include "qtool/base/error.h"

namespace qtool::tests {
namespace {

Tensor to_channels_last(const Tensor& plain) {
  Tensor result(plain.dtype(), plain.shape());
  const LoopNest<2> nest(plain.shape().dims(), {strides_of(plain.shape(), Layout::kChannelsLast),
                                                strides_of(plain.shape(), Layout::kPlain)});
  copy_strided(nest, size_of(plain.dtype()), result.data(), plain.data(), 1);
  return result;
}

// The graph of one node, with the types and shapes that an executor would know.
struct OneNode {
  Graph graph;
  NodeId node{};
  ValueInfos infos;

  explicit OneNode(const OpCase& test) {
    Node n;
    n.name = "test";
    n.op_type = test.op_type;
    n.attributes = test.attributes;
    for (const OpInput& input : test.inputs) {
      if (!input.tensor) {
        n.inputs.push_back(kNoValue);
        continue;
      }
      const std::string name = "in" + std::to_string(n.inputs.size());
      if (input.constant) {
        n.inputs.push_back(graph.add_constant(name, input.tensor->clone()));
      } else {
        n.inputs.push_back(graph.add_value(name));
        graph.add_input(n.inputs.back());
      }
    }
    for (std::size_t i = 0; i < test.outputs; ++i) {
      n.outputs.push_back(graph.add_value("out" + std::to_string(i)));
    }
    const std::vector<ValueId> inputs = n.inputs;
    node = graph.add_node(std::move(n));
    infos.resize(graph.value_limit());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNoValue) continue;
      const Tensor& tensor = *test.inputs[i].tensor;
      infos[inputs[i]] = ValueInfo{tensor.dtype(), tensor.shape()};
    }
  }
};

const OpDef& row_of(const OpCase& test) {
  const OpDef* def = find_op(test.op_type, "");
  if (def == nullptr) throw std::logic_error("no operator " + test.op_type);
  return *def;
}

}  // namespace

OpInput constant(Tensor tensor) {
  OpInput input(std::move(tensor));
  input.constant = true;
  return input;
}

std::vector<ValueInfo> infer_op(const OpCase& test) {
  const OneNode one(test);
  return row_of(test).infer(OpContext(one.graph, one.node, one.infos));
}

std::string infer_error(const OpCase& test) {
  try {
    static_cast<void>(infer_op(test));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Tensor> run_op(const OpCase& test, Layout layout, int threads) {
  const OpDef& def = row_of(test);
  OneNode one(test);
  OpContext context(one.graph, one.node, one.infos);
  context.threads = threads;
  std::vector<Tensor> storage;
  std::vector<TensorView> views;
  std::vector<std::int32_t> inputs;
  for (const OpInput& input : test.inputs) {
    context.input_layouts.push_back(Layout::kPlain);
    if (!input.tensor) {
      inputs.push_back(-1);
      continue;
    }
    const Tensor& tensor = *input.tensor;
    const bool convert =
        layout == Layout::kChannelsLast && tensor.shape().rank() == 4 && !input.constant;
    if (convert) context.input_layouts.back() = Layout::kChannelsLast;
    storage.push_back(convert ? to_channels_last(tensor) : tensor.clone());
    inputs.push_back(static_cast<std::int32_t>(views.size()));
    views.emplace_back(storage.back().data(), tensor.dtype(), tensor.shape(),
                       context.input_layouts.back());
  }
  const std::vector<ValueInfo> infos = def.infer(context);
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < test.outputs; ++i) {
    const ValueId id = one.graph.node(one.node).outputs[i];
    one.infos[id] = infos.at(i);
    const Layout own = infos[i].shape.rank() == 4 ? layout : Layout::kPlain;
    context.output_layouts.push_back(own);
    storage.emplace_back(infos[i].dtype, infos[i].shape);
    // A value that is never the right answer, to detect elements that are not written.
    if (Tensor& made = storage.back(); made.bytes() > 0) {
      std::memset(made.data(), 0xa5, static_cast<std::size_t>(made.bytes()));
    }
    outputs.push_back(static_cast<std::int32_t>(views.size()));
    views.emplace_back(storage.back().data(), infos[i].dtype, infos[i].shape, own);
  }
  if (def.make == nullptr) {
    views[static_cast<std::size_t>(outputs[0])].data =
        views[static_cast<std::size_t>(inputs[0])].data;
  } else {
    const std::unique_ptr<Operator> op = def.make(context);
    Tensor workspace(DType::kUInt8, Shape{op->workspace_bytes()});
    op->run(Operands(views, inputs, outputs, workspace.data(), threads));
  }
  std::vector<Tensor> results;
  for (const std::int32_t output : outputs) {
    results.push_back(to_tensor(views[static_cast<std::size_t>(output)]));
  }
  return results;
}

Tensor random_tensor(Shape shape, float low, float high, std::uint64_t seed) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (float& value : tensor.values<float>()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<float>(state >> 40U) * (1.0F / 16777216.0F);
    value = low + (high - low) * bits;
  }
  return tensor;
}

}  // namespace qtool::tests
