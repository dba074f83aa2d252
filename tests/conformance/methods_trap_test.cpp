// Measures the trap of docs/research/calibration.md on a real network: how counting the exact zeros
// after Relu changes the KL threshold of each tensor. Prints the figures that the document shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/parallel.h"
#include "base/text.h"
#include "calib/decide.h"
#include "calib/methods/whole_bin_kl.h"
#include "calib/statistics.h"
#include "qtool/calib/collect.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "quant/density.h"
#include "support/absent.h"
#include "support/least_divergence.h"
#include "support/places.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

const fs::path kShared = kSharedData;

Collection collect_relus(std::int64_t images) {
  const Executor executor(prepare(load_onnx(kShared / "models/squeezenet1.1.onnx")));
  CollectOptions options;
  options.preprocess = preprocess_preset("imagenet");
  options.preprocess.resize = ResizeMode::kSquash;
  options.preprocess.resize_width = 224;
  options.preprocess.resize_height = 224;
  options.preprocess.crop_width = 0;
  options.preprocess.crop_height = 0;
  for (const NodeId id : executor.graph().nodes()) {
    const Node& node = executor.graph().node(id);
    if (node.op_type == "Relu") {
      options.tensors.push_back(executor.graph().value(node.outputs[0]).name);
    }
  }
  return collect(executor, list_images(kShared / "images/photos/calib", {}, images), options);
}

// The threshold of the search as published, which counts zeros like other values.
double threshold_with_zeros(const Statistics& statistics) {
  const MethodOptions options;
  LinearHistogram magnitudes = magnitude_histogram(statistics.histogram(), options.bins);
  magnitudes.counts[0] += statistics.histogram().zeros();
  const std::int64_t kept =
      least_divergence(WholeBinKl(magnitudes.counts, options.levels), options.levels);
  return kept == options.bins ? double{statistics.absmax()}
                              : (static_cast<double>(kept) + 0.5) * magnitudes.width();
}

// Prints the shares of the counted values in percent: the exact zeros, then 16 bins up to the
// maximum.
void print_shape(const TensorStatistics& tensor) {
  const FloatHistogram& histogram = tensor.statistics.histogram();
  const auto percent = [&](std::int64_t count) {
    const double share = static_cast<double>(count) / static_cast<double>(histogram.count());
    return to_fixed(100.0 * share, 2);
  };
  std::cout << to_text(tensor.tensor, " zeros ", percent(histogram.zeros()), ", bins");
  for (const std::int64_t count : magnitude_histogram(histogram, 16).counts) {
    std::cout << " " << percent(count);
  }
  std::cout << "\n";
}

TEST(KlTrap, ZerosAfterReluWouldRuinTheThresholdAndAreLeftOut) {
  if (!fs::exists(kShared)) GTEST_SKIP() << absent(kShared);
  const Collection collection = collect_relus(20);
  const CalibrationTable kl = decide(collection, "kl", MethodOptions());
  const CalibrationTable minmax = decide(collection, "minmax", MethodOptions());
  const Scheme scheme = MethodOptions().scheme;
  double kl_sum = 0.0;
  double minmax_sum = 0.0;
  std::cout << "tensor zeros% max | T dB, zeros counted | T dB, kl | dB, minmax\n";
  for (std::size_t i = 0; i < collection.tensors.size(); ++i) {
    const Statistics& statistics = collection.tensors[i].statistics;
    const double trapped = threshold_with_zeros(statistics);
    const double trapped_db =
        Density(statistics.histogram())
            .effect(choose_affine(statistics.clipped_range(trapped), scheme), limits_of(scheme))
            .sqnr_db();
    const ActivationEntry& entry = kl.activations[i];
    const double zeros =
        static_cast<double>(statistics.zeros()) / static_cast<double>(statistics.count());
    std::cout << to_text(entry.tensor, " ", to_fixed(100.0 * zeros, 0), " ",
                         to_fixed(statistics.max(), 1), " | ", to_fixed(trapped, 1), " ",
                         to_fixed(trapped_db, 1), " | ", to_fixed(entry.range.max, 1), " ",
                         to_fixed(entry.sqnr_db.value_or(0.0), 1), " | ",
                         to_fixed(minmax.activations[i].sqnr_db.value_or(0.0), 1), "\n");
    if (entry.tensor == "relu6_out") print_shape(collection.tensors[i]);
    if (zeros > 0.3) {
      EXPECT_LT(trapped_db, 21.0) << entry.tensor;
    }
    EXPECT_GT(entry.sqnr_db.value_or(0.0), 30.0) << entry.tensor;
    EXPECT_GE(*entry.sqnr_db, *minmax.activations[i].sqnr_db - 0.5) << entry.tensor;
    kl_sum += *entry.sqnr_db;
    minmax_sum += *minmax.activations[i].sqnr_db;
  }
  EXPECT_GT(kl_sum, minmax_sum);
  EXPECT_EQ(collection.tensors.size(), 26U);
}

}  // namespace
}  // namespace qtool
