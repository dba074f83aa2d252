// Quantizes real networks, runs them with ONNX Runtime and with our executor, and compares.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "other_runtime.h"
#include "qtool/calib/format.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantized_networks.h"
#include "support/places.h"
#include "support/quantize_in.h"

namespace qtool {
namespace {

constexpr std::int64_t kComparedImages = 3;

/// The network quantized for target tensorrt, with a table that was written to and read from a
/// TensorRT cache.
Emitted emit_from_cache(const Network& network) {
  const Graph graph = prepare(load_onnx(network.model));
  Emitted emitted;
  const FormatInfo& format = find_format("tensorrt");
  const CalibrationTable table = calibrated(network, graph, {}, "tensorrt", emitted);
  StaticOptions options;
  options.target = "tensorrt";
  emitted.quantized = quantize(graph, format.read(format.write(table, {}), {}).table, options);
  return emitted;
}

/// The size of the constants that FP32 nodes read, such as the anchors of a detector. They stay
/// FP32 in the file.
std::int64_t real_constant_bytes(const Graph& quantized) {
  std::int64_t bytes = 0;
  for (const ValueId id : quantized.living_values()) {
    if (!quantized.is_constant(id)) continue;
    const auto& readers = quantized.consumers(id);
    const bool real = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return !quantized.node(reader).is("QuantizeLinear") &&
             !quantized.node(reader).is("DequantizeLinear");
    });
    if (real) bytes += quantized.value(id).constant->bytes();
  }
  return bytes;
}

TEST_P(OnnxRuntime, RunsOurModelOnIntegersAndAgreesWithUs) {
  const Network& network = GetParam();
  const Emitted& emitted = emitted_with_defaults(network);
  const Graph& quantized = emitted.quantized.graph;
  const QuantizeReport& report = emitted.quantized.report;
  const ImageSet& images = emitted.images;
  InBothRuntimes both(emitted);
  const auto size = static_cast<std::int64_t>(fs::file_size(both.saved()));
  const auto allowed = report.weight_bytes + real_constant_bytes(quantized) +
                       16 * report.output_channels + 256 * report.added_nodes;
  RecordProperty("bytes", std::to_string(size));
  RecordProperty("allowed_bytes", std::to_string(allowed));
  EXPECT_LE(size, allowed);

  const Coverage coverage = coverage_of(both.plan());
  RecordProperty("coverage", coverage_line(coverage, report));
  std::printf("%s: %s\n", network.name.c_str(), coverage_line(coverage, report).c_str());

  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < kComparedImages; ++i) {
    const auto& entry = images.entries[static_cast<std::size_t>(i) * images.entries.size() /
                                       static_cast<std::size_t>(kComparedImages)];
    const auto [other, sqnr_db] = both.run(entry);
    if (other.ops.empty()) return;
    const auto ran = [&ops = other.ops](std::string_view op) {
      return std::count(ops.begin(), ops.end(), op);
    };
    EXPECT_GT(ran("QLinearConv"), 0);
    EXPECT_EQ(ran("Conv") + ran("FusedConv"), expected_float_convolutions(quantized, report));
    for (std::size_t o = 0; o < sqnr_db.size() && other_is_exact_for(report); ++o) {
      EXPECT_GE(sqnr_db[o], kMinSqnrDb) << entry.path;
      equal += o == 0 && sqnr_db[o] >= kEqualSqnrDb ? 1 : 0;
    }
  }
  if (!other_is_exact_for(report)) {
    GTEST_SKIP() << "outputs not compared: without VNNI ONNX Runtime's products may saturate";
  }
  EXPECT_GE(equal, kComparedImages - 1);
}

constexpr std::int64_t kPairImages = 5;

// Without VNNI, ONNX Runtime's sums of two products saturate, unless the weights prevent it.
TEST_P(OnnxRuntime, GivesTheSameAnswersForLimitedPairsOnEveryProcessor) {
  TypeChoices types;
  types.weight_pairs = WeightPairs::kLimited;
  const Emitted emitted = emit(GetParam(), types);
  EXPECT_EQ(emitted.quantized.report.saturating_pairs, 0);
  InBothRuntimes both(emitted);
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < std::size_t{kPairImages}; ++i) {
    const ImageEntry& entry = emitted.images.entries[i];
    const std::vector<double> sqnr_db = both.run(entry).sqnr_db;
    for (std::size_t o = 0; o < sqnr_db.size(); ++o) {
      EXPECT_GE(sqnr_db[o], kMinTiedSqnrDb) << entry.path;
      equal += o == 0 && sqnr_db[o] >= kEqualSqnrDb ? 1 : 0;
    }
  }
  EXPECT_GE(equal, kPairImages - 1);  // one may have a tie
}

constexpr std::size_t kSummedImages = 6;

// For target 'qtool' we add the residual before rounding. ONNX Runtime computes that sum in FP32.
TEST_P(OnnxRuntime, AgreesWithUsOnSumsBeforeRounding) {
  const Emitted emitted = emit(GetParam(), {}, "qtool");
  const QuantizeReport& report = emitted.quantized.report;
  if (report.residuals == 0) GTEST_SKIP() << "no convolution of it ends in an Add";
  InBothRuntimes both(emitted);
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < std::min(kSummedImages, emitted.images.entries.size()); ++i) {
    const ImageEntry& entry = emitted.images.entries[i];
    const auto [other, sqnr_db] = both.run(entry);
    if (other.ops.empty()) return;
    EXPECT_EQ(std::count(other.ops.begin(), other.ops.end(), "Conv") +
                  std::count(other.ops.begin(), other.ops.end(), "FusedConv"),
              expected_float_convolutions(emitted.quantized.graph, report));
    for (std::size_t o = 0; o < sqnr_db.size() && other_is_exact(); ++o) {
      EXPECT_GE(sqnr_db[o], kMinTiedSqnrDb) << entry.path;
    }
    equal += sqnr_db.at(0) >= kEqualSqnrDb ? 1 : 0;
  }
  if (other_is_exact()) {
    EXPECT_GE(equal, 1);
  }
}

/// Types other than the defaults, as a user can choose them for this target.
std::vector<std::pair<std::string, TypeChoices>> other_types() {
  std::vector<std::pair<std::string, TypeChoices>> all(5);
  all[0].first = "signed symmetric activations";
  all[0].second.activation_dtype = DType::kInt8;
  all[0].second.activation_symmetry = Symmetry::kSymmetric;
  all[1].first = "6-bit activations";
  all[1].second.activation_bits = 6;
  all[2].first = "4-bit signed activations, 4-bit weights by mse";
  all[2].second.activation_bits = 4;
  all[2].second.activation_dtype = DType::kInt8;
  all[2].second.weight_bits = 4;
  all[2].second.weight_method = "mse";
  all[3].first = "one scale per weight";
  all[3].second.weight_granularity = Granularity::kPerTensor;
  all[4].first = "6-bit weights for Winograd";
  all[4].second.winograd_bits = 6;
  return all;
}

// ONNX Runtime may have no integer kernels for these types, but it must compute the same results.
TEST_P(OnnxRuntime, GivesOtherTypesTheSameMeaning) {
  const Network& network = GetParam();
  if (!network.name.starts_with("signs")) GTEST_SKIP() << "the small networks are enough";
  for (auto& [name, types] : other_types()) {
    types.weight_pairs = WeightPairs::kLimited;
    SCOPED_TRACE(name);
    const Emitted emitted = emit(network, types);
    InBothRuntimes both(emitted);
    const Coverage coverage = coverage_of(both.plan());
    EXPECT_EQ(coverage.integer_macs, coverage.macs);
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}}) {
      const std::vector<double> sqnr_db = both.run(emitted.images.entries[i]).sqnr_db;
      ASSERT_FALSE(sqnr_db.empty());
      EXPECT_GE(sqnr_db[0], kMinSqnrDb);
    }
  }
}

// Without TensorRT, ONNX Runtime is the reference for what the model means.
TEST_P(OnnxRuntime, GivesModelsForTensorRtTheSameMeaning) {
  if (!other_is_exact()) GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  const Network& network = GetParam();
  const Emitted emitted = emit_from_cache(network);
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(emitted.quantized.graph, saved);
  const Executor ours(load_onnx(saved));
  const auto plan = ours.compile({});
  std::printf("%s: %s\n", network.name.c_str(),
              coverage_line(coverage_of(*plan), emitted.quantized.report).c_str());
  std::vector<BadImage> bad;
  Workspace workspace;
  const auto image =
      load_preprocessed(emitted.images.entries[0], emitted.preprocess, BadImages::kFail, bad);
  const OtherRun other = run_other(saved, {{plan->inputs()[0].name, *image}}, folder.path);
  const TensorView input = *image;
  const auto outputs = plan->run({&input, 1}, workspace);
  const Executor real(prepare(load_onnx(network.model)));
  Workspace real_workspace;
  const auto real_outputs = real.compile({})->run({&input, 1}, real_workspace);
  ASSERT_EQ(outputs.size(), other.outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const double sqnr = sqnr_db_of(outputs[o].values<float>(), other.outputs[o]);
    std::printf("%s for TensorRT, output %d: %.1f dB\n", network.name.c_str(), static_cast<int>(o),
                sqnr);
    // ONNX Runtime computes with floats here. Where a value rounds to the other side, the
    // difference grows from layer to layer, at worst until the noises of the two runtimes are
    // independent and add up. Then the difference fluctuates around the sum of the noises, so half
    // a decibel is allowed. The noise of ONNX Runtime may be at most 4 dB above ours.
    const std::span<const float> real_values = real_outputs[o].values<float>();
    const double noise = sqnr_db_of(real_values, outputs[o].values<float>());
    const double other_noise = sqnr_db_of(real_values, other.outputs[o]);
    std::printf("against FP32: ours %.1f dB, ONNX Runtime %.1f dB\n", noise, other_noise);
    const double sum =
        -10.0 * std::log10(std::pow(10.0, -noise / 10.0) + std::pow(10.0, -other_noise / 10.0));
    EXPECT_GT(sqnr, sum - 0.5);
    EXPECT_GT(other_noise, noise - 4.0);
  }
}

TEST_P(OnnxRuntime, AgreesWithUsOnTheEvaluationImages) {
  const Network& network = GetParam();
  if (network.evaluation.empty()) GTEST_SKIP() << "the network is no classifier";
  constexpr std::int64_t kBatch = 50;
  constexpr std::int64_t kMaxImages = 400;
  const Emitted& emitted = emitted_with_defaults(network);
  if (!other_is_exact_for(emitted.quantized.report)) {
    GTEST_SKIP() << "without VNNI ONNX Runtime's products may saturate";
  }
  const TemporaryFolder folder;
  const fs::path saved = folder.path / "model.onnx";
  save_onnx(emitted.quantized.graph, saved);
  const Executor ours(load_onnx(saved));
  const ImageSet images = list_images(network.evaluation, {}, kMaxImages);
  std::vector<BadImage> bad;
  Workspace workspace;
  std::int64_t compared = 0;
  std::int64_t same = 0;
  double sum_db = 0.0;
  for (std::size_t first = 0; first + kBatch <= images.entries.size(); first += kBatch) {
    std::optional<Tensor> batch;
    for (std::int64_t i = 0; i < kBatch; ++i) {
      const auto image = load_preprocessed(images.entries[first + static_cast<std::size_t>(i)],
                                           emitted.preprocess, BadImages::kFail, bad);
      const Shape& one = image->shape();
      if (!batch) batch = Tensor(DType::kFloat32, Shape{kBatch, one[1], one[2], one[3]});
      std::memcpy(batch->data() + i * image->bytes(), image->data(),
                  static_cast<std::size_t>(image->bytes()));
    }
    const Value& input = ours.graph().value(ours.graph().inputs()[0]);
    const auto plan = ours.compile({{input.name, batch->shape()}});
    const OtherRun other = run_other(saved, {{plan->inputs()[0].name, *batch}}, folder.path);
    ASSERT_EQ(other.outputs.size(), 1U);
    const TensorView view = *batch;
    const auto got = plan->run({&view, 1}, workspace)[0].values<float>();
    ASSERT_EQ(got.size(), other.outputs[0].size());
    const std::size_t classes = got.size() / kBatch;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const auto mine = got.subspan(i * classes, classes);
      const auto theirs = std::span<const float>(other.outputs[0]).subspan(i * classes, classes);
      ++compared;
      sum_db += std::min(sqnr_db_of(mine, theirs), 200.0);
      same += std::max_element(mine.begin(), mine.end()) - mine.begin() ==
                      std::max_element(theirs.begin(), theirs.end()) - theirs.begin()
                  ? 1
                  : 0;
    }
  }
  std::printf("%s: same top-1 for %d of %d images, mean SQNR %.1f dB\n", network.name.c_str(),
              static_cast<int>(same), static_cast<int>(compared),
              sum_db / static_cast<double>(compared));
  EXPECT_GE(same * 100, compared * 99);
  EXPECT_GE(sum_db / static_cast<double>(compared), 30.0);
}

TEST_P(OnnxRuntime, RunsTheModesWithoutATableAndAgreesWithUs) {
  const Network& network = GetParam();
  const Graph graph = prepare(load_onnx(network.model));
  const Preprocess preprocess = preprocess_from_json(network.preprocess);
  const ImageSet images = list_images(network.images, {}, 2);
  const TemporaryFolder folder;
  const auto original_bytes = static_cast<double>(fs::file_size(network.model));
  for (const QuantizeMode mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
    const Quantized emitted = quantize_in(mode, graph);
    const Graph& quantized = emitted.graph;
    const fs::path saved = folder.path / "model.onnx";
    save_onnx(quantized, saved);
    const Executor ours(prepare(load_onnx(saved)));
    std::vector<BadImage> bad;
    const auto image = load_preprocessed(images.entries[0], preprocess, BadImages::kFail, bad);
    const auto plan = ours.compile({});
    const OtherRun other = run_other(saved, {{plan->inputs()[0].name, *image}}, folder.path);
    if (other.ops.empty()) return;
    std::int64_t integer = 0;
    for (const std::string& op : other.ops) {
      integer += op == "ConvInteger" || op.find("MatMulInteger") != std::string::npos ||
                         op.find("DynamicQuantizeMatMul") != std::string::npos
                     ? 1
                     : 0;
    }
    std::int64_t expected = 0;
    for (const NodeReport& node : emitted.report.nodes)
      expected += node.role == NodeRole::kInteger ? 1 : 0;
    EXPECT_EQ(integer, expected) << name_of(mode);
    Workspace workspace;
    const TensorView input = *image;
    const auto outputs = plan->run({&input, 1}, workspace);
    ASSERT_EQ(outputs.size(), other.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const double sqnr = sqnr_db_of(outputs[o].values<float>(), other.outputs[o]);
      std::printf("%s, %s: %.1f %% of the bytes, output %d: %.1f dB\n", network.name.c_str(),
                  std::string(name_of(mode)).c_str(),
                  100.0 * static_cast<double>(fs::file_size(saved)) / original_bytes,
                  static_cast<int>(o), sqnr);
      // Weight-only is FP32 arithmetic. A dynamic range depends on the last bits of FP32 sums, so
      // the two may round an activation to neighbouring integers.
      if (mode == QuantizeMode::kWeightOnly || other_is_exact()) {
        EXPECT_GE(sqnr, mode == QuantizeMode::kWeightOnly ? 80.0 : 30.0) << name_of(mode);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxRuntime, testing::ValuesIn(networks()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qtool
