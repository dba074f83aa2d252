#pragma once

#include <cstddef>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/base/progress.h"
#include "search/mix_forecast.h"

namespace qtool {

/// Nodes in FP32, and what is expected of the model.
struct Mix {
  NodeSet excluded;
  Forecast forecast;
};

struct PathLimits {
  double least_integer_share = 0.0;
  double enough_noise = 0.0;  ///< the path ends below it
  std::size_t most_steps = 200;
  int threads = 1;
  StopCheck stop{};
};

/// From `start`, adds one island after the other: the one whose forecast brings the most decibels
/// for its cost. `start` is the first element. Ends where no island brings anything or the limits
/// say so. Does not depend on the number of threads. Throws Error(kCancelled).
std::vector<Mix> greedy_path(const MixForecast& model, const std::vector<NodeSet>& islands,
                             NodeSet start, const PathLimits& limits);

/// At most `count` different steps after `fails` and before `reaches`, spread evenly up to `last`.
std::vector<std::size_t> steps_between(std::size_t fails, std::size_t last, std::size_t reaches,
                                       std::size_t count);

/// Decibels for the cost of going from one mix to a larger one.
double gain_per_cost(const Forecast& from, const Forecast& to);

}  // namespace qtool
