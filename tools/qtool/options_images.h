#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "model.h"
#include "qtool/graph/graph.h"
#include "qtool/image/image_set.h"
#include "qtool/image/load.h"
#include "qtool/image/preprocess.h"
#include "report/preprocessing.h"

namespace qtool::tool {

/// What a command does with images: counts how many it names right, which needs --images and may
/// need --labels, or only runs them, if there are any.
enum class ImagesUse { kMeasure, kRun };

/// Which images a command reads: --images, --labels, --limit, --strict.
struct ImageOptions {
  std::string images;
  std::string labels;
  std::int64_t limit = 0;
  bool strict = false;

  void add_to(Command& command, ImagesUse use);
  [[nodiscard]] ImageSet list() const;
  [[nodiscard]] BadImages policy() const { return strict ? BadImages::kFail : BadImages::kSkip; }
};

/// Warns of images that were left out: the reasons of the first ones, and how many.
void warn_of(const std::vector<BadImage>& bad);

/// A value that read_preprocess() takes, as far as that is known without reading a file.
void take_preprocess(Command& command, CLI::Option& option);

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
