#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// The options of a change as words of a command line, and the command that takes them.
struct ChangeOptions {
  std::string command;  ///< `quantize` or `calibrate`
  std::vector<std::string> words;
};
ChangeOptions options_of(const Change& change);
/// The command and its options quoted for a shell, for people to paste:
/// `qtool quantize ... --exclude a`.
std::string line_of(const ChangeOptions& options);

/// The word for a kind of source.
std::string_view name_of(SourceKind kind);

/// The result as text for people. The options can be pasted behind the command that made the model.
std::string text_of(const SuggestResult& result);

}  // namespace qtool
