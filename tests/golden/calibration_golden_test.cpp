// Compares thresholds and ranges with those that the calibrators of ncnn and ONNX Runtime found on
// the same images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "calib/methods/fractional_kl.h"
#include "calib/statistics.h"
#include "qtool/calib/collect.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "quant/density.h"
#include "quantize/placement/placement.h"
#include "quantize/weights/weight_ports.h"
#include "support/absent.h"
#include "support/places.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

const fs::path kShared = kSharedData;

struct Network {
  const char* name;
  std::vector<float> mean;
  std::vector<float> norm;
};

const std::vector<Network> kNetworks = {
    {"squeezenet1.1", {123.675F, 116.28F, 103.53F}, {0.01712475F, 0.017507F, 0.01742919F}},
    {"mobilenet_v2_1.0_224", {127.5F, 127.5F, 127.5F}, {0.00784314F, 0.00784314F, 0.00784314F}},
};

/// Everything a calibrator saw: statistics by tensor, and the input tensor of each layer.
struct Observed {
  std::map<std::string, Statistics> statistics;
  std::map<std::string, std::string> inputs;  // layer -> tensor
};

enum class Passes : std::uint8_t { kOne, kTwo };

constexpr const char* kGoldenImages = "golden/png";  // the 20 images of the other calibrators
constexpr const char* kCalibImages = "images/photos/calib";
// With sanitizers 200 images take minutes, and these builds do not look for faults of the sampling.
constexpr std::int64_t kManyImages = kSanitized ? 40 : 200;

const Observed& observed(const Network& network, Passes passes = Passes::kTwo,
                         const std::string& folder = kGoldenImages) {
  static std::map<std::tuple<std::string, Passes, std::string>, Observed> known;
  const auto [place, fresh] = known.try_emplace({network.name, passes, folder});
  if (!fresh) return place->second;
  Graph graph = prepare(load_onnx(kShared / "models" / to_text(network.name, ".onnx")));
  CollectOptions options;
  for (const NodeId id : graph.nodes()) {
    for (const ValueId output : graph.node(id).outputs) {
      options.tensors.push_back(graph.value(output).name);
    }
    if (!weight_ports(graph, id)) continue;
    const std::string& input = graph.value(graph.node(id).inputs[0]).name;
    place->second.inputs[std::string(name_of(graph, id))] = input;
    options.tensors.push_back(input);
  }
  options.preprocess.mean = network.mean;
  options.preprocess.std.clear();
  for (const float norm : network.norm) options.preprocess.std.push_back(1.0F / norm);
  // ncnn counts every value, after a first pass that finds the range.
  if (passes == Passes::kTwo) options.exact_bins = 2048;
  const Executor executor(std::move(graph));
  options.preprocess.resize = ResizeMode::kSquash;
  options.preprocess.resize_width = 224;
  options.preprocess.resize_height = 224;
  const std::int64_t images = folder == kGoldenImages ? 20 : kManyImages;
  Collection collection = collect(executor, list_images(kShared / folder, {}, images), options);
  EXPECT_EQ(collection.image_count, images);
  for (TensorStatistics& tensor : collection.tensors) {
    place->second.statistics[tensor.tensor] = std::move(tensor.statistics);
  }
  return place->second;
}

/// The scale of each layer's input, by layer: the rows of an ncnn table that are not for weights.
std::map<std::string, double> ncnn_input_scales(const std::string& file) {
  std::ifstream stream(kShared / "golden/ncnn" / file);
  std::map<std::string, double> scales;
  for (std::string line; std::getline(stream, line) && !line.empty();) {
    std::istringstream words(line);
    std::string key;
    double scale = 0.0;
    words >> key >> scale;
    if (key.find("_param_") == std::string::npos) scales[key] = scale;
  }
  return scales;
}

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class CalibrationGolden : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (!fs::exists(kShared)) GTEST_SKIP() << absent(kShared);
  }
};

TEST_P(CalibrationGolden, KlNcnnFindsTheThresholdsOfNcnn) {
  const Observed& seen = observed(GetParam());
  const auto scales = ncnn_input_scales(to_text(GetParam().name, ".kl.table"));
  ASSERT_GE(scales.size(), 26U);
  std::size_t close = 0;
  for (const auto& [layer, scale] : scales) {
    ASSERT_TRUE(seen.inputs.contains(layer)) << layer;
    const Statistics& statistics = seen.statistics.at(seen.inputs.at(layer));
    const LinearHistogram histogram = statistics.magnitudes(2048);
    const Range range = find_method("kl_ncnn").decide(statistics, MethodOptions());
    const auto bin = [&](double threshold) { return threshold / histogram.width() - 0.5; };
    const double ours = bin(std::max(-range.min, range.max));
    const double theirs = bin(127.0 / scale);
    if (std::abs(ours - theirs) <= 1.0 + 1e-2) {
      ++close;
      continue;
    }
    std::vector<double> weights;
    for (const std::int64_t count : histogram.counts) {
      weights.push_back(static_cast<double>(count) / static_cast<double>(histogram.total()));
    }
    const FractionalKl search(weights, 128, 1e-4);
    const double least = search.divergences()[static_cast<std::size_t>(search.best() - 128)];
    const auto place = std::clamp<std::int64_t>(std::llround(theirs) - 128, 0, 1919);
    const double there = search.divergences()[static_cast<std::size_t>(place)];
    std::cout << to_text(GetParam().name, " ", layer, ": bin ", to_fixed(ours, 0), ", ncnn ",
                         to_fixed(theirs, 1), "; divergence ", to_fixed(least, 7), ", at ncnn's ",
                         to_fixed(there, 7), "\n");
    EXPECT_LE(there, 1.001 * least) << layer;
  }
  std::cout << to_text(GetParam().name, ": ", close, " of ", scales.size(), " within one bin\n");
  EXPECT_GE(static_cast<double>(close), 0.95 * static_cast<double>(scales.size()));
}

TEST_P(CalibrationGolden, AciqNcnnFindsTheThresholdsOfNcnn) {
  const Observed& seen = observed(GetParam());
  const auto scales = ncnn_input_scales(to_text(GetParam().name, ".aciq.table"));
  ASSERT_GE(scales.size(), 26U);
  std::size_t close = 0;
  for (const auto& [layer, scale] : scales) {
    const Statistics& statistics = seen.statistics.at(seen.inputs.at(layer));
    const Range range = find_method("aciq_ncnn").decide(statistics, MethodOptions());
    const double ours = std::max(-range.min, range.max);
    const double bin = statistics.absmax() / 2048.0;
    if (std::abs(ours - 127.0 / scale) <= bin) {
      ++close;
    } else {
      std::cout << to_text(GetParam().name, " ", layer, ": ", ours, ", ncnn ", 127.0 / scale, "\n");
    }
  }
  EXPECT_GE(static_cast<double>(close), 0.95 * static_cast<double>(scales.size()));
}

nlohmann::json onnxruntime_ranges(const std::string& file) {
  std::ifstream stream(kShared / "golden/onnxruntime" / file);
  return nlohmann::json::parse(stream);
}

TEST_P(CalibrationGolden, MinmaxFindsTheRangesOfOnnxRuntime) {
  const Observed& seen = observed(GetParam());
  const nlohmann::json ranges = onnxruntime_ranges(to_text(GetParam().name, ".minmax.json"));
  std::size_t compared = 0;
  for (const auto& [tensor, ends] : ranges.items()) {
    const auto known = seen.statistics.find(tensor);
    if (known == seen.statistics.end()) continue;  // prepare() folds this tensor away
    ++compared;
    const auto near = [&name = tensor](double found, double expected) {
      EXPECT_NEAR(found, expected, 1e-3 * std::max(std::abs(expected), 1e-6)) << name;
    };
    near(known->second.min(), ends[0].get<double>());
    near(known->second.max(), ends[1].get<double>());
  }
  std::cout << to_text(GetParam().name, ": ", compared, " of ", ranges.size(), " tensors\n");
  EXPECT_GE(compared, 50U);
}

// Compares the quantization noise of all values under two ranges: one decided from a sample of the
// values, and one decided from all values.
void compare_sample(const Network& network, const std::string& folder) {
  const Observed& all = observed(network, Passes::kTwo, folder);
  const Observed& some = observed(network, Passes::kOne, folder);
  const MethodOptions options;
  for (const std::string_view method : {"minmax", "kl", "mse", "percentile"}) {
    std::vector<double> excess;  // dB, one entry per tensor that was sampled
    for (const auto& [tensor, sample] : some.statistics) {
      const Statistics& whole = all.statistics.at(tensor);
      EXPECT_EQ(sample.count(), whole.count()) << tensor;
      EXPECT_EQ(sample.zeros(), whole.zeros()) << tensor;
      if (sample.histogram().count() == whole.count()) continue;
      const Density density(whole.histogram());
      const auto sqnr_db = [&](const Statistics& statistics) {
        const Range range = find_method(method).decide(statistics, options);
        return density.effect(choose_affine(range, options.scheme), limits_of(options.scheme))
            .sqnr_db();
      };
      excess.push_back(sqnr_db(whole) - sqnr_db(sample));
    }
    ASSERT_GE(excess.size(), 10U);
    const double mean =
        std::accumulate(excess.begin(), excess.end(), 0.0) / static_cast<double>(excess.size());
    const auto [least, most] = std::minmax_element(excess.begin(), excess.end());
    std::cout << to_text(network.name, ", ", folder, ", ", method, ": ", excess.size(),
                         " tensors, ", mean, " dB less on average, ", *least, " to ", *most, "\n");
    EXPECT_LE(mean, 0.15) << method;
    EXPECT_LE(*most, 1.5) << method;
    if (method == "minmax") {
      EXPECT_EQ(*most, 0.0);
    }
  }
}

TEST_P(CalibrationGolden, ASampleDecidesAsAllValuesDo) {
  compare_sample(GetParam(), kGoldenImages);
}

TEST_P(CalibrationGolden, AsFewValuesOfEachOfManyImagesDo) {
  compare_sample(GetParam(), kCalibImages);
}

std::string golden_network_name(const testing::TestParamInfo<Network>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

// Each network has its own suite, because each suite runs as a process and they share little work.
INSTANTIATE_TEST_SUITE_P(Squeezenet, CalibrationGolden, testing::Values(kNetworks[0]),
                         golden_network_name);
INSTANTIATE_TEST_SUITE_P(Mobilenet, CalibrationGolden, testing::Values(kNetworks[1]),
                         golden_network_name);

}  // namespace
}  // namespace qtool
