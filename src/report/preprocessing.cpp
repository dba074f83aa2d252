#include "qtool/report/preprocessing.h"

#include <algorithm>

#include "image/preprocess_json.h"
#include "qtool/base/text.h"
#include "report/preprocessing_json.h"

namespace qtool {

std::string text_of(const SourcedPreprocess& sourced) {
  std::string text = concat("preprocessing ", sourced.source, ":");
  for (const PreprocessField field : preprocess_fields()) {
    text += concat(field == PreprocessField::kResize ? " " : ", ", name_of(field), " ",
                   text_of(sourced.preprocess, field));
    const auto change =
        std::ranges::find(sourced.changes, field, &SourcedPreprocess::Change::field);
    if (change != sourced.changes.end()) text += concat(" (by ", change->by, ")");
  }
  return text;
}

nlohmann::ordered_json json_of(const SourcedPreprocess& sourced) {
  nlohmann::ordered_json changed = nlohmann::ordered_json::object();
  for (const SourcedPreprocess::Change& change : sourced.changes) {
    changed[std::string(name_of(change.field))] = change.by;
  }
  return {{"source", sourced.source},
          {"changed", std::move(changed)},
          {"used", preprocess_to_json(sourced.preprocess)}};
}

}  // namespace qtool
