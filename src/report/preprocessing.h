#pragma once

#include <string>
#include <vector>

#include "qtool/image/preprocess.h"

namespace qtool {

/// The preprocessing of a run, its source, and the changes that were made to it.
struct SourcedPreprocess {
  struct Change {
    PreprocessField field;
    std::string by;  ///< for example `--channels` or `the network's input`
  };
  Preprocess preprocess;
  std::string source;           ///< ends the phrase "preprocessing ...": `stored in model 'a.onnx'`
  std::vector<Change> changes;  ///< at most one per field
  std::string assumed{};        ///< names of the fields that were assumed; empty if none were

  /// The option that says the assumed fields.
  [[nodiscard]] std::string asked_option() const;
};

/// One line that a person can check, without a line feed:
/// `preprocessing assumed: resize squash 64x64, crop none, channels bgr (by --channels), ...`.
std::string text_of(const SourcedPreprocess& sourced);

}  // namespace qtool
