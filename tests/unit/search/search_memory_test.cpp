#include "search/search_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/partial_results.h"
#include "support/tensor_folder.h"

namespace qtool {
namespace {

// The search treats the kinds differently, so it must find each again after a stop.
TEST(SearchMemory, KeepsTheKindOfASource) {
  const TensorFolder folder;
  PartialResults results(folder.path() / "search.partial", 1);
  AnalyzeResult analysis;
  analysis.images = 3;
  for (const SourceKind kind : {SourceKind::kActivation, SourceKind::kWeights, SourceKind::kBias}) {
    ErrorSource source;
    source.kind = kind;
    source.name = "layer";
    source.noise = 0.5;
    analysis.sources.push_back(source);
  }
  SearchMemory memory(&results);
  memory.keep(analysis);
  const std::optional<AnalyzeResult> found = memory.sources();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->images, 3);
  ASSERT_EQ(found->sources.size(), analysis.sources.size());
  for (std::size_t i = 0; i < analysis.sources.size(); ++i) {
    EXPECT_EQ(found->sources[i].kind, analysis.sources[i].kind) << i;
    EXPECT_EQ(found->sources[i].noise, 0.5);
  }
}

}  // namespace
}  // namespace qtool
