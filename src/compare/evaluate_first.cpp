// Functions that look at one sample before all samples are run.
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answers/class_scores.h"
#include "base/text.h"
#include "compare/model_pair.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

std::vector<Tensor> first_sample(const Samples& samples, const Preprocess& preprocess,
                                 BadImages policy) {
  std::vector<BadImage> bad;
  std::optional<std::vector<Tensor>> sample = first_usable(samples, preprocess, policy, bad);
  if (sample) return *std::move(sample);
  throw Error(ErrorCode::kMismatch,
              to_text("none of ", samples.size(), " ", samples.noun(), "s is usable",
                      bad.empty() ? std::string() : to_text("; the first: ", bad.front().reason)));
}

std::vector<Tensor> batch_of_copies(std::vector<Tensor> sample, std::int64_t batch) {
  if (batch == 1) return sample;
  for (Tensor& one : sample) {
    Tensor all(one.dtype(), batch_shape(one.shape(), batch));
    const auto bytes = static_cast<std::size_t>(one.bytes());
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
      std::memcpy(all.data() + i * bytes, one.data(), bytes);
    }
    one = std::move(all);
  }
  return sample;
}

std::int64_t classes_of(const Executor& executor, std::span<const Tensor> sample, int threads,
                        Requantization requantization) {
  const std::vector<Shape> inputs = shapes_of(sample);
  const ModelPair pair = compile_pair(executor, nullptr, inputs, threads, requantization);
  return class_count(pair.fp32->outputs(), batch_of(inputs));
}

}  // namespace qtool
