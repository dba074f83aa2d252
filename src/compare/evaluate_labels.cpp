// What labels must be like so that a label is the network's class.
#include <string>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"

namespace qtool {

void require_name_per_class(std::span<const std::string> names, std::int64_t classes) {
  const std::int64_t found = std::ssize(names);
  if (found == 0 || classes == 0 || found == classes) return;
  // Lists of ImageNet's classes come with and without a background class in front.
  std::string_view hint;
  if (found == classes + 1) {
    hint = "; if one line stands for a background that the network does not score, leave it out";
  } else if (found == classes - 1) {
    hint = "; if the network scores a background too, the labels need a line for it";
  }
  throw Error(ErrorCode::kMismatch, to_text("the labels have ", found, " lines, the network has ",
                                            classes, " classes", hint));
}

void require_known_labels(const Samples& samples, std::int64_t classes) {
  if (samples.names_given()) require_name_per_class(samples.class_names(), classes);
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    if (samples.label(i) < classes) continue;
    throw Error(ErrorCode::kUsage,
                to_text("image '", samples.path(i).string(), "' has class ", samples.label(i),
                        ", the network knows classes 0 to ", classes - 1));
  }
}

}  // namespace qtool
