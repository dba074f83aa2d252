#include "calib/formats/rewrites.h"

#include <algorithm>

#include "base/text.h"

namespace qtool {

nlohmann::ordered_json rewrites_to_json(const Rewrites& rewrites) {
  nlohmann::ordered_json object;
  object["names"] = rewrites.names;
  object["fingerprint"] = to_hex(rewrites.fingerprint);
  return object;
}

Rewrites rewrites_of(const JsonField& field) {
  field.require_object({"names", "fingerprint"});
  Rewrites rewrites;
  for (const JsonField& element : field.at("names").elements()) {
    std::string name = element.as_string();
    const auto& known = rewrites.names;
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) {
      element.fail("names, each once");
    }
    rewrites.names.push_back(std::move(name));
  }
  if (rewrites.names.empty()) field.at("names").fail("at least one name");
  rewrites.fingerprint = field.at("fingerprint").as_hex();
  return rewrites;
}

}  // namespace qtool
