#include "report/preprocessing.h"

#include <algorithm>

#include "analyze/next_step.h"
#include "base/text.h"

namespace qtool {

std::string SourcedPreprocess::asked_option() const { return option_for_fields(assumed); }

std::string text_of(const SourcedPreprocess& sourced) {
  std::string text = to_text("preprocessing ", sourced.source, ":");
  for (const PreprocessField field : preprocess_fields()) {
    text += to_text(field == PreprocessField::kResize ? " " : ", ", name_of(field), " ",
                    text_of(sourced.preprocess, field));
    const auto change =
        std::ranges::find(sourced.changes, field, &SourcedPreprocess::Change::field);
    if (change != sourced.changes.end()) text += to_text(" (by ", change->by, ")");
  }
  return text;
}

}  // namespace qtool
