#pragma once

#include <cstdint>
#include <optional>

#include "options/samples.h"
#include "qtool/analyze/analyze.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// With fewer samples, none are kept apart to learn from.
inline constexpr std::int64_t kFewestToSplit = 4;

/// The samples that recipes learn from, and those that judge. They have no sample in common.
struct LearnAndJudge {
  std::optional<LearningSamples> learn;
  Samples judge;
};

/// At most 16 of the samples that `chosen` selects for `graph`, with the options that name them.
LearningSamples learning_samples(SampleOptions chosen, const Graph& graph,
                                 const Preprocess& preprocess);

/// Divides the samples that `options` select for `graph`, which are `samples`, into halves. At most
/// 16 of the first half learn; at most --limit of the second half judge. With fewer than
/// kFewestToSplit samples, or a --part that cannot be divided, all judge. `preprocess`: how `qtool
/// quantize` prepares the images that recipes learn from.
LearnAndJudge split_samples(const SampleOptions& options, const Graph& graph,
                            const Preprocess& preprocess, const Samples& samples);

}  // namespace qtool::tool
