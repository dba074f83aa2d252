#pragma once

#include "cli/command.h"
#include "model.h"
#include "options/run.h"
#include "options/shape.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"

namespace qtool::tool {

/// --faster-only, and --shape and --dim for networks that leave shapes open.
class FasterOnlyOptions {
 public:
  void add_to(Command& command);
  [[nodiscard]] bool given() const { return faster_only_; }

  /// Measures the models that `inputs` can give, on the first of the samples. Without samples, it
  /// measures them on noise, with the shapes that the model declares or the options give.
  [[nodiscard]] FasterResult measure(const Model& fp32, const StaticInputs& inputs,
                                     const Samples* samples, const Preprocess& preprocess,
                                     BadImages policy, const RunOptions& run) const;

 private:
  bool faster_only_ = false;
  ShapeOptions shapes_;
};

}  // namespace qtool::tool
