#pragma once

#include <cstddef>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/base/progress.h"
#include "search/mix_forecast.h"

namespace qtool {

/// Nodes in FP32, and the forecast for the model.
struct Mix {
  NodeSet excluded;
  Forecast forecast;
};

struct PathLimits {
  double least_integer_share = 0.0;
  double enough_noise = 0.0;  ///< the path ends below this noise
  std::size_t most_steps = 200;
  int threads = 1;
  StopCheck stop{};
};

/// Starts from `start`, which is the first element, and adds one island after another. Each step
/// adds the island with the largest forecast gain in decibels per cost. Ends where no island gains
/// anything or a limit is reached. Does not depend on the number of threads. Throws
/// Error(kCancelled).
std::vector<Mix> greedy_path(const MixForecast& model, const std::vector<NodeSet>& islands,
                             NodeSet start, const PathLimits& limits);

/// At most `count` different steps after `fails` and before `reaches`, spread evenly up to `last`.
std::vector<std::size_t> steps_between(std::size_t fails, std::size_t last, std::size_t reaches,
                                       std::size_t count);

/// The gain in decibels, divided by the cost, of going from one mix to a larger one.
double gain_per_cost(const Forecast& from, const Forecast& to);

}  // namespace qtool
