#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "options/sequence.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {

/// How a command uses samples. kMeasure: it counts right answers, which may need --labels. kRun: it
/// only runs the samples, if there are any.
enum class SamplesUse { kMeasure, kRun };

/// Adds --inputs, for samples that are tensors.
Option& add_inputs_option(Command& command, std::string& inputs);

/// The samples on which a command runs networks: --images or --inputs, --labels, --part, --limit,
/// --strict.
struct SampleOptions {
  std::string images;
  std::string inputs;
  std::string labels;
  std::string part;
  std::int64_t limit = 0;
  bool strict = false;
  SequenceOptions sequence;  ///< for commands that add its options

  void add_to(Command& command, SamplesUse use);
  [[nodiscard]] bool given() const { return !images.empty() || !inputs.empty(); }
  /// For commands that do nothing without samples: throws CommandLineError if none are given, as
  /// for a required option.
  void require_given() const;
  /// The samples for `graph` that --part and --limit select.
  [[nodiscard]] Samples list(const Graph& graph) const;
  /// All samples for `graph`, whatever --part and --limit say.
  [[nodiscard]] Samples list_all(const Graph& graph) const;
  /// Whether --limit leaves out none of the samples for `graph`. `listed`: the result of list().
  [[nodiscard]] bool lists_all(const Graph& graph, const Samples& listed) const;
  /// One of two halves of these samples, which have no sample in common: `number` is 1 or 2. At
  /// most --limit samples of the half. nullopt where --part cannot name it.
  [[nodiscard]] std::optional<SampleOptions> half(std::int64_t number) const;
  /// `images` or `samples`, for progress.
  [[nodiscard]] std::string noun() const { return inputs.empty() ? "images" : "samples"; }
  [[nodiscard]] BadImages policy() const { return strict ? BadImages::kFail : BadImages::kSkip; }
};

}  // namespace qtool::tool
