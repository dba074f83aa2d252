#pragma once

#include <functional>
#include <string>
#include <vector>

namespace qtool::tool {

/// A page of `qtool help` about something that several commands share.
struct HelpTopic {
  std::string name;
  std::string summary;
  /// Makes the text of the page: paragraphs, and rows of a term and its meaning.
  std::function<std::string()> text;
};

/// Every topic, in the order of `qtool help`. The topics list the entries of the library's own
/// lists.
const std::vector<HelpTopic>& help_topics();

}  // namespace qtool::tool
