// The few nodes that are tried before a search begins.
#include "search/loudest_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "search/final_measurements.h"
#include "support/image_folder.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

using testing::ElementsAre;

ErrorSource weights_of(const std::string& node, double share) {
  ErrorSource source;
  source.kind = SourceKind::kWeights;
  source.name = source.node = node;
  source.noise = source.share = share;
  return source;
}

TEST(LoudestSources, TakesTwiceAsManySourcesEachTime) {
  const ImageFolder folder(kLayerSide, 2);
  const Executor fp32(prepare(four_layers()));
  CalibrateOptions options;
  options.collect.preprocess.mean = {127.5F};
  options.collect.preprocess.std = {64.0F};
  StaticInputs base;
  base.table = calibrate(fp32, folder.list(), options).table;
  const Exclusions exclusions(fp32.graph(), base);
  AnalyzeResult analysis;
  for (const char* node : {"c", "a", "d"}) analysis.sources.push_back(weights_of(node, 0.3));
  analysis.sources.push_back(weights_of("b", 0.001));  // too quiet to matter
  std::vector<std::vector<std::string>> names;
  for (const NodeSet& nodes : loudest_sources(analysis, exclusions)) {
    std::vector<std::string> layers;
    for (const std::string& name : exclusions.names_of(nodes)) {
      if (name.size() == 1) layers.push_back(name);
    }
    names.push_back(layers);
  }
  EXPECT_THAT(names,
              ElementsAre(ElementsAre("c"), ElementsAre("a", "c"), ElementsAre("a", "c", "d")));
  EXPECT_TRUE(loudest_sources({}, exclusions).empty());
}

TEST(WithMore, AddsSomeOfTheOthers) {
  EXPECT_THAT(with_more({4, 7}, {7, 1, 2, 3}, 2), ElementsAre(4, 7, 1, 2));
  EXPECT_THAT(with_more({4, 7}, {1}, 0), ElementsAre(4, 7));
  EXPECT_THAT(with_more({4, 7}, {0, 1}, 1), ElementsAre(4, 7, 1));  // 0 is the base model
}

}  // namespace
}  // namespace qtool
