#include "compare/detector_check.h"

#include <optional>
#include <vector>

#include "answers/answer.h"
#include "answers/detector_search.h"
#include "compare/model_pair.h"
#include "qtool/compare/evaluate.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

constexpr std::int64_t kLookedAt = 3;  // images

}  // namespace

void require_fitting_detector(const AnswerOptions& options, const Executor& fp32,
                              std::span<const Tensor> sample, TensorLayout layout) {
  if (!options.boxes) return;
  const ModelPair pair = compile_pair(fp32, nullptr, shapes_of(sample), 1);
  Workspace workspace;
  const AnswerReader reader(options, *pair.fp32, layout);
  reader.require_fit(pair.fp32->run(views_of(sample), workspace));
}

RecognisedDetector recognise_detector(const Executor& fp32, const Samples& samples,
                                      const Preprocess& preprocess, BadImages policy) {
  const ChannelAxis channels =
      preprocess.layout == TensorLayout::kNchw ? ChannelAxis::kFirst : ChannelAxis::kLast;
  // The images are spread over the list, because neighbours may show the same.
  const Samples some = samples.spread(kLookedAt);
  std::vector<Shape> shapes;
  ModelPair pair;
  std::optional<DetectorSearch> search;
  Workspace workspace;
  std::vector<BadImage> bad;
  for (std::int64_t i = 0; i < some.size(); ++i) {
    const std::optional<std::vector<Tensor>> sample = some.load(i, preprocess, policy, bad);
    if (!sample) continue;
    if (!search) {
      shapes = shapes_of(*sample);
      pair = compile_pair(fp32, nullptr, shapes, 1);
      search.emplace(pair.fp32->outputs(), shapes.front(), channels);
      if (!search->has_candidates()) break;
    }
    if (shapes_of(*sample) == shapes) search->add(pair.fp32->run(views_of(*sample), workspace));
  }
  return search ? search->result() : RecognisedDetector{};
}

}  // namespace qtool
