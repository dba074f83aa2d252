#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.h"
#include "qtool/graph/graph.h"
#include "qtool/image/image_set.h"
#include "qtool/image/load.h"
#include "qtool/image/preprocess.h"

namespace qtool::tool {

/// What a command does with pictures: counts how many it names right, which needs --images and may
/// need --labels, or only runs them, if there are any.
enum class ImagesUse { kMeasure, kRun };

/// Which pictures a command reads: --images, --labels, --limit, --strict.
struct ImageOptions {
  std::string images;
  std::string labels;
  std::int64_t limit = 0;
  bool strict = false;

  void add_to(CLI::App& command, ImagesUse use);
  [[nodiscard]] ImageSet list() const;
  [[nodiscard]] BadImages policy() const { return strict ? BadImages::kFail : BadImages::kSkip; }
};

/// Whether a command can check the flags against a stored preprocessing, and so has --force.
enum class StoredCheck { kNone, kForceable };

/// How pictures become the network's input: --preprocess and the flags that override it.
class PreprocessOptions {
 public:
  void add_to(CLI::App& command, StoredCheck check);

  /// The preprocessing to use for `graph`: the flags over --preprocess over what is stored, sizes
  /// left open filled from the network's input. Throws Error(kMismatch) when flags contradict what
  /// is stored, unless --force is given; warns about what is doubtful or assumed.
  [[nodiscard]] Preprocess choose(const std::optional<StoredPreprocess>& stored,
                                  const Graph& graph) const;

 private:
  [[nodiscard]] bool given() const;
  [[nodiscard]] Preprocess with_flags(Preprocess base) const;

  std::string preprocess_;
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
