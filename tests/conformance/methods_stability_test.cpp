// Checks that thresholds do not depend on the last bits of the values. Another FP32 library, or
// another instruction set, changes these bits and must not change a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/calib/collect.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/target.h"
#include "quantize/placement/placement.h"
#include "support/absent.h"
#include "support/float_view.h"
#include "support/places.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

constexpr int kSeeds = 20;
constexpr double kNoise = 1e-6;    // relative error of every value
constexpr double kMaxMove = 0.01;  // relative move of either end of a range
constexpr std::string_view kStable[] = {"admm", "kl"};

// Changes values by a relative error that is uniform in [-kNoise, kNoise].
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  std::span<const float> on(std::span<const float> values) {
    values_.resize(values.size());
    std::transform(values.begin(), values.end(), values_.begin(), [&](float value) {
      state_ ^= state_ << 13U;
      state_ ^= state_ >> 7U;
      state_ ^= state_ << 17U;
      const double even = static_cast<double>(state_ >> 11U) * 0x1p-52 - 1.0;
      return static_cast<float>(value * (1.0 + kNoise * even));
    });
    return values_;
  }

 private:
  std::uint64_t state_;
  std::vector<float> values_;
};

// The largest relative move of either end.
double move(const Range& from, const Range& to) {
  const auto of_end = [](double a, double b) { return a == b ? 0.0 : std::abs(b / a - 1.0); };
  return std::max(of_end(from.min, to.min), of_end(from.max, to.max));
}

// Element 0 of `noisy` has no noise.
void expect_stable(std::span<const Statistics> noisy, std::string_view method,
                   const std::string& what, double& most) {
  const MethodInfo& info = find_method(method);
  const Range range = info.decide(noisy[0], MethodOptions());
  for (std::size_t seed = 1; seed < noisy.size(); ++seed) {
    const Range moved = info.decide(noisy[seed], MethodOptions());
    EXPECT_LE(move(range, moved), kMaxMove)
        << method << ", " << what << ", seed " << seed << ": [" << range.min << ", " << range.max
        << "] and [" << moved.min << ", " << moved.max << "]";
    most = std::max(most, move(range, moved));
  }
}

TEST(StableMethods, MoveByAtMostOnePerCentOnDistributions) {
  using Draw = std::function<double(std::mt19937&)>;
  const Draw normal = [](std::mt19937& random) { return std::normal_distribution<>()(random); };
  const Draw student = [](std::mt19937& random) {
    return std::student_t_distribution<>(3)(random);
  };
  const std::vector<std::pair<std::string, Draw>> distributions = {
      {"normal", normal},
      {"normal after ReLU", [&](std::mt19937& random) { return std::max(normal(random), 0.0); }},
      {"exponential",
       [](std::mt19937& random) { return std::exponential_distribution<>()(random); }},
      {"cubed normal", [&](std::mt19937& random) { return std::pow(normal(random), 3.0); }},
      {"Student t", student},
      {"Student t after ReLU",
       [&](std::mt19937& random) { return std::max(student(random), 0.0); }},
      {"even",
       [](std::mt19937& random) { return std::uniform_real_distribution<>(-1, 1)(random); }},
      {"two peaks",
       [&](std::mt19937& random) { return normal(random) + (random() % 4 == 0 ? 9.0 : 0.0); }},
  };
  double most = 0.0;
  for (const auto& [name, draw] : distributions) {
    for (const std::size_t count : {1000U, 100000U}) {
      std::mt19937 random(7);
      std::vector<float> values(count);
      for (float& value : values) value = static_cast<float>(draw(random));
      std::vector<Statistics> noisy(kSeeds + 1);
      noisy[0].observe(one_channel(values));
      for (int seed = 1; seed <= kSeeds; ++seed) {
        Noise noise(static_cast<std::uint64_t>(seed));
        noisy[static_cast<std::size_t>(seed)].observe(one_channel(noise.on(values)));
      }
      for (const std::string_view method : kStable) {
        expect_stable(noisy, method, to_text(count, " values, ", name), most);
      }
    }
  }
  std::cout << to_text("the largest move: ", to_fixed(100.0 * most, 3), " %\n");
}

struct Network {
  const char* model;
  const char* images;
  Preprocess preprocess;
  std::int64_t image_count = 3;
  // A case of a large network takes a part of its tensors, so that no case takes long.
  std::size_t part = 0;
  std::size_t parts = 1;
};

Preprocess squash(std::int64_t width, std::int64_t height, std::vector<float> mean,
                  std::vector<float> deviation, ChannelOrder channels = ChannelOrder::kRgb) {
  Preprocess preprocess;
  preprocess.resize = ResizeMode::kSquash;
  preprocess.resize_width = width;
  preprocess.resize_height = height;
  preprocess.channels = channels;
  preprocess.mean = std::move(mean);
  preprocess.std = std::move(deviation);
  return preprocess;
}

std::vector<Network> networks() {
  const std::vector<float> mean = {123.675F, 116.28F, 103.53F};
  const std::vector<float> deviation = {58.395F, 57.12F, 57.375F};
  Preprocess blazeface = squash(256, 256, {127.5F}, {127.5F});
  blazeface.layout = TensorLayout::kNhwc;
  Preprocess yolox = squash(416, 416, {0.0F}, {1.0F}, ChannelOrder::kBgr);
  yolox.resize = ResizeMode::kLetterbox;
  return {
      {"cifar10_resnet20", "cifar10/calib", preprocess_preset("cifar")},
      {"squeezenet1.1", "photos/calib", squash(224, 224, mean, deviation)},
      {"mobilenet_v2_1.0_224", "photos/calib", squash(224, 224, {127.5F}, {127.5F})},
      {"ultraface_rfb_320", "faces", squash(320, 240, {127.0F}, {128.0F})},
      {"fastestdet_coco_352", "street", squash(352, 352, {0.0F}, {255.0F}, ChannelOrder::kBgr)},
      // The pixels of this network, which have 256 levels, are the tensor whose range moves most.
      // With more images it moves more.
      {"wild/blazeface_back_256", "faces", blazeface, 12},
      {"wild/yolox_nano_416", "street", yolox, 3, 0, 2},
      {"wild/yolox_nano_416", "street", yolox, 3, 1, 2},
  };
}

void PrintTo(const Network& network, std::ostream* out) { *out << network.model; }

class StableNetworks : public testing::TestWithParam<Network> {};

TEST_P(StableNetworks, MoveNoThresholdByMoreThanOnePerCent) {
  const fs::path shared = kSharedData;
  const Network& network = GetParam();
  const fs::path model = shared / "models" / to_text(network.model, ".onnx");
  if (!fs::exists(model)) GTEST_SKIP() << absent(model);
  const Executor executor(prepare(load_onnx(model)));
  CompileOptions options;
  const std::vector<std::string> tensors =
      tensors_to_calibrate(executor.graph(), find_target(kDefaultTarget), {});
  for (std::size_t i = network.part; i < tensors.size(); i += network.parts) {
    options.observe.push_back(tensors[i]);
  }
  ASSERT_FALSE(options.observe.empty());
  std::vector<std::vector<Statistics>> noisy(options.observe.size(),
                                             std::vector<Statistics>(kSeeds + 1));
  std::vector<Noise> noises;
  for (int seed = 1; seed <= kSeeds; ++seed) noises.emplace_back(static_cast<std::uint64_t>(seed));
  const std::string input = executor.graph().value(executor.graph().inputs()[0]).name;
  const ImageSet images = list_images(shared / "images" / network.images, {}, network.image_count);
  Counting counting = Counting::sample_of(100);  // as for a list of 100 images
  Workspace workspace;
  std::vector<BadImage> bad;
  for (const ImageEntry& entry : images.entries) {
    const auto image = load_preprocessed(entry, network.preprocess, BadImages::kSkip, bad);
    if (!image) continue;
    const auto plan = executor.compile({{input, image->shape()}}, options);
    const TensorView view(*image);
    counting.random_start += 0x61C88647U;
    plan->run({&view, 1}, workspace, [&](std::size_t tensor, const TensorView& seen) {
      noisy[tensor][0].observe(seen, noisy[tensor][0].images(), counting);
      for (std::size_t seed = 1; seed <= kSeeds; ++seed) {
        noisy[tensor][seed].observe(
            float_view(noises[seed - 1].on(seen.values<float>()), seen.shape, seen.layout),
            noisy[tensor][seed].images(), counting);
      }
    });
  }
  double most = 0.0;
  for (std::size_t tensor = 0; tensor < noisy.size(); ++tensor) {
    for (const std::string_view method : kStable) {
      expect_stable(noisy[tensor], method, options.observe[tensor], most);
    }
  }
  std::cout << to_text(network.model, ": ", noisy.size(),
                       " tensors, the largest move: ", to_fixed(100.0 * most, 3), " %\n");
}

INSTANTIATE_TEST_SUITE_P(
    List, StableNetworks, testing::ValuesIn(networks()), [](const auto& param) {
      std::string name = fs::path(param.param.model).filename().string();
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      const Network& network = param.param;
      return network.parts == 1 ? name : to_text(name, "_part_", network.part + 1);
    });

}  // namespace
}  // namespace qtool
