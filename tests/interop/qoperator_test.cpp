// Runs the QOperator form of real networks with ONNX Runtime, and checks which operators run and
// what they compute.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "qtool/exec/executor.h"
#include "quantized_networks.h"

namespace qtool {
namespace {

class QOperatorForm : public OnnxRuntime {};

// In this form the operators read and write integers, and ONNX Runtime runs each node as the
// operator that it is.
TEST_P(QOperatorForm, RunsOnIntegersAndAgreesWithUs) {
  const Network& network = GetParam();
  const Emitted emitted = emit(network, {}, "onnxruntime", ModelForm::kQOperator);
  const Graph& quantized = emitted.quantized.graph;
  const auto written = [&](std::string_view op) {
    return std::count_if(quantized.nodes().begin(), quantized.nodes().end(),
                         [&](NodeId id) { return quantized.node(id).op_type == op; });
  };
  InBothRuntimes both(emitted);
  const bool is_exact = other_is_exact_for(emitted.quantized.report);
  std::int64_t equal = 0;
  for (const std::size_t i : {std::size_t{0}, emitted.images.entries.size() / 2}) {
    const ImageEntry& entry = emitted.images.entries[i];
    const auto [other, sqnr_db] = both.run(entry);
    if (other.ops.empty()) return;
    const auto ran = [&ops = other.ops](std::string_view op) {
      return std::count(ops.begin(), ops.end(), op);
    };
    EXPECT_GT(written("QLinearConv"), 0);
    for (const char* op : {"QLinearConv", "QLinearAdd", "QLinearMul", "QLinearConcat", "QGemm"}) {
      EXPECT_GE(ran(op), written(op)) << op;
    }
    EXPECT_EQ(ran("Conv") + ran("FusedConv"),
              expected_float_convolutions(emitted_with_defaults(network).quantized.graph,
                                          emitted.quantized.report));
    for (std::size_t o = 0; o < sqnr_db.size() && is_exact; ++o) {
      EXPECT_GE(sqnr_db[o], kMinTiedSqnrDb) << entry.path;
      equal += o == 0 && sqnr_db[o] >= kEqualSqnrDb ? 1 : 0;
    }
  }
  if (is_exact) {
    EXPECT_GE(equal, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, QOperatorForm, testing::ValuesIn(networks()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qtool
