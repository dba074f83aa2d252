#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "graph/node_name.h"
#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "support/absent.h"
#include "support/places.h"

// Real networks, quantized, for the comparison with ONNX Runtime.
namespace qtool {

namespace fs = std::filesystem;

inline constexpr std::int64_t kCalibrationImages = 20;
// Both runtimes round once per layer to the same grid, so images give the same numbers to float32
// precision. A sum on a rounding tie may still fall either way, and later layers propagate the
// difference. So one image may differ more, but by far less than quantization itself costs (10 to
// 35 dB SQNR).
inline constexpr double kEqualSqnrDb = 100.0;
inline constexpr double kMinSqnrDb = 45.0;
// Where ONNX Runtime adds floats, ties are frequent and their effect grows in later layers: its own
// answers with and without its optimizer are 25 to 31 dB apart for mobilenet_v2. In this case at
// least one image must be equal.
inline constexpr double kMinTiedSqnrDb = 20.0;

struct Network {
  std::string name;
  fs::path model;
  fs::path images;
  std::string preprocess;  ///< JSON
  fs::path evaluation;     ///< images to compare top-1 on; empty: not a classifier
};

inline std::ostream& operator<<(std::ostream& out, const Network& network) {
  return out << network.name;
}

inline std::vector<Network> networks() {
  const fs::path own = fs::path(kSourceFolder) / "data";
  const fs::path shared = kSharedData;
  const std::string signs = read_file(own / "preprocess.json", 1 << 20);
  const std::string imagenet =
      R"("channels": "rgb", "layout": "nchw", "mean": [123.675, 116.28, 103.53],)"
      R"("std": [58.395, 57.12, 57.375]})";
  const std::string squash = R"({"resize": {"mode": "squash", "width": 224, "height": 224},)";
  return {
      {"signs_mobilenet", own / "signs_mobilenet.onnx", own / "calib", signs, own / "test"},
      {"signs_resnet", own / "signs_resnet.onnx", own / "calib", signs, own / "test"},
      {"squeezenet", shared / "models/squeezenet1.1.onnx", shared / "images/photos/calib",
       squash + imagenet, shared / "images/photos/eval"},
      {"mobilenet_v2", shared / "models/mobilenet_v2_1.0_224.onnx", shared / "images/photos/calib",
       squash + R"("mean": [127.5], "std": [127.5]})", shared / "images/photos/eval"},
      {"resnet20", shared / "models/cifar10_resnet20.onnx", shared / "images/cifar10/calib",
       "{" + imagenet, shared / "images/cifar10/eval"},
      {"ultraface",
       shared / "models/ultraface_rfb_320.onnx",
       shared / "images/faces",
       R"({"resize": {"mode": "squash", "width": 320, "height": 240},)"
       R"("mean": [127], "std": [128]})",
       {}},
      {"fastestdet",
       shared / "models/fastestdet_coco_352.onnx",
       shared / "images/street",
       R"({"resize": {"mode": "squash", "width": 352, "height": 352}, "channels": "bgr",)"
       R"("mean": [0], "std": [255]})",
       {}},
  };
}

inline double sqnr_db_of(std::span<const float> reference, std::span<const float> other) {
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    signal += double{reference[i]} * reference[i];
    noise += (double{reference[i]} - other[i]) * (double{reference[i]} - other[i]);
  }
  return 10.0 * std::log10(signal / noise);
}

/// The number of convolutions that the report leaves in FP32, or whose result stays real: ONNX
/// Runtime has no integer kernel with a real result.
inline std::int64_t expected_float_convolutions(const Graph& quantized,
                                                const QuantizeReport& report) {
  std::int64_t count = 0;
  for (const NodeId id : quantized.nodes()) {
    if (!quantized.node(id).is("Conv")) continue;
    const NodeReport* said = report.find(name_of(quantized, id));
    ValueId result = quantized.node(id).outputs[0];
    bool real = false;
    while (!real) {
      const auto& readers = quantized.consumers(result);
      real = quantized.is_output(result) || readers.size() != 1;
      if (real || quantized.node(readers[0]).is("QuantizeLinear")) break;
      const NodeReport* reader = report.find(name_of(quantized, readers[0]));
      real = reader == nullptr || reader->role != NodeRole::kFused;
      result = quantized.node(readers[0]).outputs[0];
    }
    if (real || said == nullptr || said->role == NodeRole::kFloat) ++count;
  }
  return count;
}

/// The network quantized with the defaults, and how its images are prepared.
struct Emitted {
  Quantized quantized;
  Preprocess preprocess;
  ImageSet images;
};

/// Calibrates the network on its images and returns a table for the target.
inline CalibrationTable calibrated(const Network& network, const Graph& graph,
                                   const TypeChoices& types, std::string_view target_name,
                                   Emitted& emitted) {
  const Executor real(graph);
  CalibrateOptions calibration;
  calibration.target = target_name;
  calibration.types = types;
  calibration.collect.preprocess = preprocess_from_json(network.preprocess);
  calibration.collect.model_fingerprint = fingerprint(graph);
  emitted.preprocess = calibration.collect.preprocess;
  emitted.images = list_images(network.images, {}, kCalibrationImages);
  return calibrate(real, emitted.images, calibration).table;
}

inline Emitted emit(const Network& network, const TypeChoices& types = {},
                    std::string_view target = kDefaultTarget, ModelForm form = ModelForm::kQdq) {
  const Graph graph = prepare(load_onnx(network.model));
  Emitted emitted;
  const CalibrationTable table = calibrated(network, graph, types, target, emitted);
  StaticOptions options;
  options.target = target;
  options.form = form;
  emitted.quantized = quantize(graph, table, options);
  return emitted;
}

/// The network quantized with the defaults. It is made once per network, because several tests of a
/// process read it.
inline const Emitted& emitted_with_defaults(const Network& network) {
  static std::map<std::string, Emitted> known;
  const auto place = known.find(network.name);
  return place != known.end() ? place->second
                              : known.emplace(network.name, emit(network)).first->second;
}

/// The answers of both runtimes to one image.
struct BothAnswers {
  OtherRun other;               ///< without ops if ONNX Runtime did not run; the test fails then
  std::vector<double> sqnr_db;  ///< ours against those of ONNX Runtime, by output
};

/// A quantized network, saved to a file that both runtimes run.
class InBothRuntimes {
 public:
  explicit InBothRuntimes(const Emitted& emitted) : emitted_(emitted) {
    save_onnx(emitted.quantized.graph, saved_);
    ours_.emplace(prepare(load_onnx(saved_)));
    plan_ = ours_->compile({});
  }

  [[nodiscard]] const fs::path& saved() const { return saved_; }
  [[nodiscard]] const Plan& plan() const { return *plan_; }

  BothAnswers run(const ImageEntry& entry) {
    std::vector<BadImage> bad;
    const auto image = load_preprocessed(entry, emitted_.preprocess, BadImages::kFail, bad);
    BothAnswers answers;
    answers.other = run_other(saved_, {{plan_->inputs()[0].name, *image}}, folder_.path);
    if (answers.other.ops.empty()) return answers;
    const TensorView input = *image;
    const auto outputs = plan_->run({&input, 1}, workspace_);
    const std::vector<std::vector<float>>& others = answers.other.outputs;
    EXPECT_EQ(outputs.size(), others.size());
    for (std::size_t o = 0; o < std::min(outputs.size(), others.size()); ++o) {
      const auto values = outputs[o].values<float>();
      EXPECT_EQ(values.size(), others[o].size());
      answers.sqnr_db.push_back(values.size() == others[o].size() ? sqnr_db_of(values, others[o])
                                                                  : 0.0);
      std::printf("%s, output %d: %.1f dB\n", entry.path.filename().c_str(), static_cast<int>(o),
                  answers.sqnr_db.back());
    }
    return answers;
  }

 private:
  const Emitted& emitted_;
  TemporaryFolder folder_;
  fs::path saved_ = folder_.path / "model.onnx";
  std::optional<Executor> ours_;
  std::shared_ptr<const Plan> plan_;
  Workspace workspace_;
};

class OnnxRuntime : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
    if (!fs::exists(GetParam().model)) GTEST_SKIP() << absent(GetParam().model);
  }
};

}  // namespace qtool
