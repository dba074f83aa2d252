#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "qtool/analyze/analyze.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/image/image.h"
#include "qtool/pipeline/calibrate.h"
#include "support/image_folder.h"

namespace qtool {

/// A small network that is calibrated on five images of `side` pixels, for tests of analyze().
class AnalyzedNetwork : public testing::Test {
 protected:
  AnalyzedNetwork(Graph network, std::int64_t side)
      : folder_(side, static_cast<int>(kImages)), fp32_(prepare(std::move(network))) {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    calibrate_options.method = "minmax";
    table_ = calibrate(fp32_, images(), calibrate_options).table;
  }

  [[nodiscard]] ImageSet images(std::size_t count = kImages) const {
    ImageSet list = folder_.list();
    list.entries.resize(count);
    return list;
  }
  [[nodiscard]] AnalyzeResult analysis_of(const Graph& emitted, std::size_t count = kImages) const {
    return analyze(fp32_, Executor(prepare(emitted)), images(count), options_);
  }

  static constexpr std::size_t kImages = 5;
  const ImageFolder folder_;
  Executor fp32_;
  AnalyzeOptions options_;
  CalibrationTable table_;
};

}  // namespace qtool
