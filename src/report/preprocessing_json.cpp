#include "report/preprocessing_json.h"

#include <string>
#include <utility>

#include "image/preprocess_json.h"

namespace qtool {

nlohmann::ordered_json json_of(const std::optional<SourcedPreprocess>& sourced) {
  if (!sourced) return nullptr;
  nlohmann::ordered_json changed = nlohmann::ordered_json::object();
  for (const SourcedPreprocess::Change& change : sourced->changes) {
    changed[std::string(name_of(change.field))] = change.by;
  }
  return {{"source", sourced->source},
          {"changed", std::move(changed)},
          {"used", preprocess_to_json(sourced->preprocess)}};
}

}  // namespace qtool
