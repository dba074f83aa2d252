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
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(quantized, saved);
  const Executor ours(prepare(load_onnx(saved)));
  const auto plan = ours.compile({});
  std::vector<BadImage> bad;
  Workspace workspace;
  std::int64_t equal = 0;
  for (const std::size_t i : {std::size_t{0}, emitted.images.entries.size() / 2}) {
    const auto image =
        load_preprocessed(emitted.images.entries[i], emitted.preprocess, BadImages::kFail, bad);
    const OtherRun other = run_other(saved, {{plan->inputs()[0].name, *image}}, folder.path);
    if (other.ops.empty()) return;
    const auto ran = [&](std::string_view op) {
      return std::count(other.ops.begin(), other.ops.end(), op);
    };
    EXPECT_GT(written("QLinearConv"), 0);
    for (const char* op : {"QLinearConv", "QLinearAdd", "QLinearMul", "QLinearConcat", "QGemm"}) {
      EXPECT_GE(ran(op), written(op)) << op;
    }
    EXPECT_EQ(ran("Conv") + ran("FusedConv"),
              expected_float_convolutions(emitted_with_defaults(network).quantized.graph,
                                          emitted.quantized.report));
    const TensorView input = *image;
    const auto outputs = plan->run({&input, 1}, workspace);
    ASSERT_EQ(outputs.size(), other.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const double sqnr = sqnr_db_of(outputs[o].values<float>(), other.outputs[o]);
      std::printf("%s as QOperator, output %d: %.1f dB\n", network.name.c_str(),
                  static_cast<int>(o), sqnr);
      if (!other_is_exact_for(emitted.quantized.report)) continue;
      EXPECT_GE(sqnr, kMinTiedSqnrDb) << emitted.images.entries[i].path;
      equal += o == 0 && sqnr >= kEqualSqnrDb ? 1 : 0;
    }
  }
  if (other_is_exact_for(emitted.quantized.report)) {
    EXPECT_GE(equal, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, QOperatorForm, testing::ValuesIn(networks()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qtool
