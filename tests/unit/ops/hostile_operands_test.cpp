// Puts every operator with every number of operands, and with each operand left out, through all
// steps from loading to running. Each step must succeed or throw an Error.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/arity.h"
#include "qtool/base/error.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/quantize_in.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

using Names = std::vector<std::string>;

// c = Conv(x, w), node, then a Conv of its first named output, so that its neighbours run on
// integers.
std::string model_of(const std::string& op, std::int64_t opset, const Names& inputs,
                     const Names& outputs, const std::string& domain = "") {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(opset);
  if (!domain.empty()) {
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(1);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("hostile");
  *graph.add_input() = tensor_info("x", {1, 1, 2, 2});
  *graph.add_initializer() = float_proto("w", {1, 1, 1, 1}, {0.5F});
  *graph.add_initializer() = float_proto("constant", {1}, {1.0F});
  *graph.add_node() = node_proto("Conv", {"x", "w"}, {"c"});
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  const auto named = std::find_if(outputs.begin(), outputs.end(),
                                  [](const std::string& output) { return !output.empty(); });
  *graph.add_node() = node_proto("Conv", {named == outputs.end() ? "c" : *named, "w"}, {"y"});
  *graph.add_output() = tensor_info("y", {});
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  return model.SerializeAsString();
}

template <typename Step>
bool done(const Step& step) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return false;
  }
}

void compile_and_run(const Graph& graph) {
  const Executor executor(graph);
  const auto plan = executor.compile({});
  std::vector<Tensor> tensors;
  for (const PortInfo& port : plan->inputs()) tensors.emplace_back(port.dtype, port.shape);
  const std::vector<TensorView> views(tensors.begin(), tensors.end());
  Workspace workspace;
  plan->run(views, workspace);
}

Graph quantize_static(const Graph& prepared, std::string_view target) {
  CalibrationTable table;
  for (const std::string& name : tensors_to_calibrate(prepared, find_target(target))) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, find_target(target).activations);
    entry.dtype = find_target(target).activations.dtype;
    table.activations.push_back(entry);
  }
  StaticOptions options;
  options.target = target;
  return quantize(prepared, table, options).graph;
}

Graph quantize_as(const Graph& prepared, QuantizeMode mode) {
  return quantize_in(mode, prepared).graph;
}

struct Outcome {
  bool loaded = false;
  bool ran = false;
};

Outcome put_through(const std::string& bytes) {
  Outcome outcome;
  Graph prepared;
  outcome.loaded = done([&] { prepared = load_onnx_bytes(bytes, "", "hostile"); });
  if (!outcome.loaded || !done([&] { prepared = prepare(std::move(prepared)); })) return outcome;
  outcome.ran = done([&] { compile_and_run(prepared); });
  done([&] { compile_and_run(quantize_static(prepared, "cpu")); });
  done([&] { compile_and_run(quantize_static(prepared, "tensorrt")); });
  done([&] { compile_and_run(quantize_as(prepared, QuantizeMode::kDynamic)); });
  done([&] { compile_and_run(quantize_as(prepared, QuantizeMode::kWeightOnly)); });
  return outcome;
}

bool is_open(std::string_view pattern) {
  return !pattern.empty() && (pattern.back() == '+' || pattern.back() == '*');
}

bool fits(const Names& names, std::string_view pattern) {
  if (!is_open(pattern) && names.size() > pattern.size()) return false;
  for (std::size_t i = 0; i < std::max(names.size(), pattern.size()); ++i) {
    const char letter = pattern[std::min(i, pattern.size() - 1)];
    if (i >= names.size() ? letter == '1' || letter == '+' : names[i].empty() && letter != '?') {
      return false;
    }
  }
  return true;
}

// `count` operands: `first`, and then `rest` for all others.
Names operand_names(std::size_t count, const std::string& first, const std::string& rest) {
  Names names(count, rest);
  if (!names.empty()) names[0] = first;
  return names;
}

Names output_names(std::size_t count) {
  Names names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(to_text("out", i));
  return names;
}

// The names as they are, and with each of them left out.
std::vector<Names> with_gaps(const Names& names) {
  std::vector<Names> all = {names};
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back(names);
    all.back()[i].clear();
  }
  return all;
}

// Lists of operands, from none to one more than the pattern has room for, and also with gaps.
template <typename Make>
std::vector<Names> lists_for(std::string_view pattern, const Make& make) {
  std::vector<Names> lists;
  for (std::size_t count = 0; count <= pattern.size() + 1; ++count) {
    for (Names& names : with_gaps(make(count))) lists.push_back(std::move(names));
  }
  return lists;
}

struct Tally {
  int refused = 0;
  int loaded = 0;
  int ran = 0;
};

// Tries a row of the operator table: in its own opset for ONNX's domain, in opset 17 for another
// domain.
void try_operator(const std::string& op, const Arity& row, std::string_view rest, Tally& tally,
                  const std::string& domain = "") {
  const Names all_inputs = operand_names(row.inputs.size(), "c", std::string(rest));
  const Names all_outputs = output_names(row.outputs.size());
  const auto attempt = [&](const Names& inputs, const Names& outputs) {
    std::string what = to_text(op, " ", row.since, ":");
    for (const std::string& input : inputs) what += to_text(" '", input, "'");
    what += " ->";
    for (const std::string& output : outputs) what += to_text(" '", output, "'");
    SCOPED_TRACE(what);
    const std::int64_t opset = domain.empty() ? row.since : 17;
    const Outcome outcome = put_through(model_of(op, opset, inputs, outputs, domain));
    EXPECT_EQ(outcome.loaded, fits(inputs, row.inputs) && fits(outputs, row.outputs));
    ++(outcome.loaded ? tally.loaded : tally.refused);
    tally.ran += outcome.ran ? 1 : 0;
  };
  const auto input_lists = lists_for(
      row.inputs, [&](std::size_t count) { return operand_names(count, "c", std::string(rest)); });
  for (const Names& inputs : input_lists) attempt(inputs, all_outputs);
  for (const Names& outputs : lists_for(row.outputs, output_names)) attempt(all_inputs, outputs);
}

TEST(HostileOperands, OfKnownOperatorsAreRefusedOrHarmless) {
  Tally tally;
  for (const OpTraits& traits : all_op_traits()) {
    for (const Arity& row : traits.arity) {
      try_operator(std::string(traits.op_type), row, "c", tally);
      try_operator(std::string(traits.op_type), row, "constant", tally);
    }
  }
  EXPECT_GT(tally.refused, 2000);
  EXPECT_GT(tally.loaded, 1000);
  EXPECT_GT(tally.ran, 100);
}

TEST(HostileOperands, OfOperatorsOfOnnxRuntimeAreRefusedOrHarmless) {
  Tally tally;
  for (const MicrosoftOperator& row : microsoft_operators()) {
    for (const std::string_view rest : {"c", "constant"}) {
      try_operator(std::string(row.op_type), row.arity, rest, tally, std::string(kMicrosoftDomain));
    }
  }
  EXPECT_GT(tally.refused, 500);
  EXPECT_GT(tally.loaded, 100);
  EXPECT_GT(tally.ran, 10);
}

TEST(HostileOperands, OfUnknownOperatorsAreHarmless) {
  for (std::size_t inputs = 0; inputs < 4; ++inputs) {
    for (const Names& in : with_gaps(operand_names(inputs, "c", "c"))) {
      for (std::size_t outputs = 0; outputs < 4; ++outputs) {
        for (const Names& out : with_gaps(output_names(outputs))) {
          EXPECT_TRUE(put_through(model_of("OfTheFuture", 17, in, out)).loaded);
        }
      }
    }
  }
}

}  // namespace
}  // namespace qtool
