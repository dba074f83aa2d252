#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "on_images/round_on_images.h"
#include "pipeline/making.h"
#include "qtool/calib/format.h"
#include "qtool/samples/samples.h"
#include "quantize/rounding/rounding.h"

namespace qtool {
namespace {

// A hash of what the integers of rounded layers depend on, beside their weights and scales: each
// partial result names those itself.
std::uint64_t work_key(const Making& making) {
  const StaticOptions& options = making.inputs.options;
  std::string text = to_text(
      to_hex(options.model_fingerprint.value_or(0)), " ", options.target, " ", options.rounding,
      " ", to_hex(content_hash_of(*making.samples)), " ", to_json_text(making.options.preprocess),
      " ", static_cast<int>(options.bias_correction), "\n", write_table(making.inputs.table));
  for (const std::string& name : options.exclude) text += to_text("\n", name);
  for (const std::string& name : options.rewrites.value_or(std::vector<std::string>{"table's"})) {
    text += to_text("\n", name);
  }
  for (const auto& [tensor, range] : making.inputs.learned.tuned_ranges) {
    text += to_text("\n", tensor, " ", range.min, " ", range.max);
  }
  return hash_bytes(text);
}

}  // namespace

bool wants_round_weights(const Recipe& recipe) {
  return find_rounding(recipe.rounding.value()).needs != RoundingNeeds::kNothing;
}

/// Weights by what the samples do to their layers; see round_on_images().
void step_round_weights(Making& making) {
  StaticOptions& options = making.inputs.options;
  options.rounding = making.recipe.rounding.value();
  RoundOnImagesOptions limits;
  limits.rounding_memory = making.recipe.rounding_memory;
  if (making.options.resume) limits.resume = making.options.resume(work_key(making));
  limits.known = making.options.known_layers;
  limits.out_of_time = [&] { return making.is_over(1.0); };
  RoundedOnImages rounded =
      round_on_images(*making.fp32, making.inputs.table, options, making.inputs.learned,
                      *making.samples, making.collect(), limits);
  making.report.bad = std::move(rounded.bad);
  making.inputs.learned.rounded = std::move(rounded.weights);
  if (!making.inputs.learned.rounded.empty()) return;
  making.report.nothing_was_rounded = true;
  options.rounding = "nearest";
}

}  // namespace qtool
