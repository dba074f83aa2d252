#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"
#include "report/text_table.h"

namespace qtool {

/// The files of --images that a command did not use.
struct UnusedFiles {
  std::vector<BadImage> bad{};  ///< images that cannot be read
  PassedOver passed_over{};     ///< see Samples::passed_over()

  /// Adds the bad images that are not among `bad` yet. Several runs on the same samples find the
  /// same ones.
  void add(const std::vector<BadImage>& more);
};

/// The number of bad images and of files passed over, and up to ten of both by name. Empty if there
/// are none. The result of every command that runs images has this text, because warnings are not
/// shown with --quiet.
std::string text_of(const UnusedFiles& files);

// The results of eval for single samples and single classes.

/// A heading, and one record per sample in the order of the list; see docs/evaluation.md.
std::string samples_csv(const EvalResult& result);

/// A heading, and one record per sample to which the models give different classes. Samples with
/// the largest loss of margin come first.
std::string flips_csv(const EvalResult& result);

/// A few classes whose top-1 accuracy INT8 changes most, and a few confusions that it changes most.
/// Empty without an INT8 model or without labels.
std::string text_of_classes(const EvalResult& result, std::size_t width);

/// `20 of 20 images also set the ranges`, then `verdict` if any did, with a line feed. Empty if the
/// images that set the ranges are not known.
std::string overlap_line(const std::optional<Overlap>& overlap, std::string_view verdict = {});

}  // namespace qtool
