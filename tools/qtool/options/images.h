#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.h"
#include "options/samples.h"
#include "program/command.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "report/preprocessing.h"

namespace qtool::tool {

/// Where a command has --inputs: the options that say how images are prepared have no effect with
/// it. Call when all of them are there.
void refuse_preprocess_of_tensors(Command& command);

/// Warns of images that were left out: the reasons of the first ones, and how many.
void warn_of(const std::vector<BadImage>& bad);

/// A value that read_preprocess() takes, as far as that is known without reading a file.
void take_preprocess(Option& option);

/// The preset of that name, or what a .json file says.
Preprocess read_preprocess(const std::string& name);

/// How images become the network's input: --preprocess names it as a whole, the other flags
/// change one field each of what is named, stored or assumed, and never touch the rest.
class PreprocessOptions {
 public:
  void add_to(Command& command);

  /// What a configuration of another tool says, as if --preprocess named it; --preprocess wins.
  void name_by_default(Preprocess preprocess, std::string source);

  /// Reads what --preprocess names and the other flags; call before reading a model, so that typos
  /// are told at once. Throws Error(kUsage), and what reading a file throws.
  void read();

  /// The preprocessing to use for `graph`, after read(); says it, all of it, in a note. Sizes left
  /// open are filled from the network's input. Throws Error(kMismatch) when the result differs from
  /// what is stored, unless --force is given; warns about what is doubtful or assumed.
  [[nodiscard]] SourcedPreprocess choose(const std::optional<StoredPreprocess>& stored,
                                         const Graph& graph) const;

  /// The same, and nothing where `samples` are tensors, which are fed as they are.
  [[nodiscard]] std::optional<SourcedPreprocess> choose_for(
      const SampleOptions& samples, const std::optional<StoredPreprocess>& stored,
      const Graph& graph) const;

 private:
  struct Named {
    Preprocess preprocess;
    std::string source;
  };

  void apply_flags(SourcedPreprocess& sourced) const;
  void apply_resize(Preprocess& preprocess) const;
  void apply_channels(const std::string& source, Preprocess& preprocess) const;
  [[nodiscard]] std::string flags_for(PreprocessField field) const;
  [[nodiscard]] std::string assumed_fields() const;

  std::string preprocess_;
  std::optional<Named> named_;
  std::string resize_;
  std::optional<std::int64_t> resize_shorter_;
  std::string crop_;
  std::string letterbox_;
  std::optional<int> fill_;
  std::string mean_;
  std::string std_;
  std::string channels_;
  std::string layout_;
  bool force_ = false;
};

}  // namespace qtool::tool
