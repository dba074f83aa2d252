#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model.h"
#include "options/run.h"
#include "qtool/compare/profile.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tool {

/// The timed runs of each model where times stand beside other figures.
inline constexpr std::int64_t kRunsBeside = 15;

/// Times the models in qtool on `sample`, `repeat` times each, and shows the progress of `step`.
ProfileResult profile_with_progress(const std::string& step, const Models& models,
                                    std::span<const Tensor> sample, std::int64_t repeat,
                                    const RunOptions& run);

}  // namespace qtool::tool
