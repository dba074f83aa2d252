#include "pipeline/paired_gains.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "compare/intervals.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/sample_runs.h"
#include "image/shift.h"

namespace qtool {
namespace {

struct Shift {
  std::int64_t right;
  std::int64_t down;
};

// In pixels. Steps of one and of three change what falls together under every stride.
constexpr std::array<Shift, PairedGains::kMostViews - 1> kShifts{{{3, 1}, {-1, 3}, {-3, -2}}};

}  // namespace

PairedGains::PairedGains(const Executor& fp32, const Graph& before, const Graph& after,
                         const Samples& first, SampleRunOptions run)
    : run_(std::move(run)),
      before_(prepare(before, run_.stop), run_.stop),
      after_(prepare(after, run_.stop), run_.stop) {
  const auto shapes = shapes_of(first_sample(first, run_.preprocess, run_.bad_images));
  const ModelPair pair = compile_pair(fp32, &before_, shapes, 1);
  fp32_plan_ = pair.fp32;
  before_plan_ = pair.int8;
  after_plan_ = compile_pair(fp32, &after_, shapes, 1).int8;
  for (std::size_t o = 0; o < fp32_plan_->outputs().size(); ++o) {
    if (is_float(fp32_plan_->outputs()[o].dtype)) outputs_.push_back(o);
  }
}

void PairedGains::run_on(std::span<const TensorView> inputs, Worker& worker,
                         std::vector<double>& gains) const {
  worker.reference.keep(fp32_plan_->run(inputs, worker.fp32));
  const auto before = worker.reference.compare(before_plan_->run(inputs, worker.before));
  const auto after = worker.reference.compare(after_plan_->run(inputs, worker.after));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::size_t o = outputs_[i];
    const double gain = after[o].decibels() - before[o].decibels();
    gains[i] += std::clamp(gain, -kMostOfSampleDb, kMostOfSampleDb);
  }
}

void PairedGains::add(const Samples& samples, std::string_view work, std::int64_t views) {
  const auto more = static_cast<std::size_t>(std::clamp<std::int64_t>(views, 1, kMostViews) - 1);
  const std::span<const Shift> shifts(kShifts.data(), samples.are_images() ? more : 0);
  std::vector<Worker> workers(static_cast<std::size_t>(sample_workers(samples, run_)));
  std::vector<std::optional<std::vector<double>>> by_sample(
      static_cast<std::size_t>(samples.size()));
  const auto body = [&](std::size_t entry, std::span<const TensorView> inputs, int index) {
    Worker& worker = workers[static_cast<std::size_t>(index)];
    std::vector<double>& gains = by_sample[entry].emplace(outputs_.size());
    run_on(inputs, worker, gains);
    for (const Shift& shift : shifts) {
      const Tensor moved = shifted(inputs.front(), run_.preprocess.layout, shift.right, shift.down);
      const TensorView view = moved;
      run_on({&view, 1}, worker, gains);
    }
    for (double& gain : gains) gain /= static_cast<double>(1 + shifts.size());
  };
  static_cast<void>(for_each_sample(samples, run_, *fp32_plan_, work, body));
  for (std::optional<std::vector<double>>& gains : by_sample) {
    if (gains && !gains->empty()) gains_.push_back(*std::move(gains));
  }
}

std::vector<MeanGain> mean_gains(std::span<const std::vector<double>> by_sample) {
  std::vector<MeanGain> all;
  for (std::size_t o = 0; !by_sample.empty() && o < by_sample.front().size(); ++o) {
    std::vector<double> values;
    for (const std::vector<double>& gains : by_sample) values.push_back(gains[o]);
    all.push_back({mean_of(values), mean_interval(values)});
  }
  return all;
}

bool is_loss(std::span<const MeanGain> outputs, double most_lost) {
  return std::ranges::any_of(outputs, [&](const MeanGain& gain) {
    return gain.decibels < -most_lost || (gain.interval && gain.interval->high < 0.0);
  });
}

bool is_clear_gain(std::span<const MeanGain> outputs, double most_lost) {
  const bool gains = std::ranges::any_of(
      outputs, [](const MeanGain& gain) { return gain.interval && gain.interval->low > 0.0; });
  return gains && !is_loss(outputs, most_lost);
}

}  // namespace qtool
