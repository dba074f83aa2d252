// Ranges, scales and exclusions of a user, as JSON.
#include "qtool/calib/overrides.h"

#include <iterator>
#include <limits>

#include "base/text.h"
#include "calib/formats/types.h"
#include "json/json.h"
#include "json/json_text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

Overrides::GivenScale given_scale_of(const std::string& tensor, const JsonField& field) {
  field.require_object({"scale", "zero_point"});
  Overrides::GivenScale given;
  given.tensor = tensor;
  given.scale = scale_of(field.at("scale"));
  if (const auto zero_point = field.find("zero_point")) {
    given.zero_point = static_cast<std::int32_t>(zero_point->as_int(-128, 255));
  }
  return given;
}

/// The members of the object `key` of the document, sorted by name.
std::vector<std::string> names_in(const nlohmann::json& document, const JsonField& root,
                                  std::string_view key) {
  std::vector<std::string> names;
  const std::optional<JsonField> field = root.find(key);
  if (!field) return names;
  const nlohmann::json& object = document.at(std::string(key));
  if (!object.is_object()) field->fail("an object of names and patterns");
  for (const auto& member : object.items()) {
    if (member.key().empty()) field->fail("names and patterns that are not empty");
    names.push_back(member.key());
  }
  return names;
}

}  // namespace

Overrides read_overrides(std::string_view text) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidArgument;
  const nlohmann::json document = parse_json(text, kMaxOverridesBytes, "overrides", kCode);
  const JsonField root(document, "overrides", kCode);
  root.require_object({"ranges", "scales", "exclude", "wide"});
  Overrides overrides;
  for (const std::string& name : names_in(document, root, "ranges")) {
    overrides.ranges.push_back({name, range_of(root.at("ranges").at(name))});
  }
  for (const std::string& name : names_in(document, root, "scales")) {
    overrides.scales.push_back(given_scale_of(name, root.at("scales").at(name)));
  }
  const auto read_names = [&](std::string_view key, std::vector<std::string>& names) {
    const auto list = root.find(key);
    if (!list) return;
    for (const JsonField& element : list->elements()) {
      names.push_back(element.as_string());
      if (names.back().empty()) element.fail("a name or pattern");
    }
  };
  read_names("exclude", overrides.exclude);
  read_names("wide", overrides.wide);
  return overrides;
}

std::string to_json_text(const Overrides& overrides) {
  nlohmann::ordered_json json;
  for (const Overrides::GivenRange& given : overrides.ranges) {
    json["ranges"][given.tensor] = {given.range.min, given.range.max};
  }
  for (const Overrides::GivenScale& given : overrides.scales) {
    nlohmann::ordered_json& entry = json["scales"][given.tensor];
    entry["scale"] = given.scale;
    if (given.zero_point) entry["zero_point"] = *given.zero_point;
  }
  json["exclude"] = overrides.exclude;
  if (!overrides.wide.empty()) json["wide"] = overrides.wide;
  std::string text = json_text(json);
  if (std::ssize(text) > kMaxOverridesBytes) {
    throw Error(ErrorCode::kUnsupported, to_text("overrides: found ", text.size(),
                                                 " bytes, expected at most ", kMaxOverridesBytes));
  }
  return text;
}

}  // namespace qtool
