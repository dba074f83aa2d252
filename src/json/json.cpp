#include "json/json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/choices.h"
#include "base/file_kind.h"
#include "base/text.h"

namespace qtool {
namespace {

using nlohmann::json;

constexpr int kMaxNesting = 8;
constexpr std::int64_t kMaxEvents = std::int64_t{1} << 23;
constexpr std::size_t kMaxQuoted = 60;

// The description of a value in an error message; always short.
std::string described(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return to_text("an array of ", value.size());
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxQuoted) text = text.substr(0, kMaxQuoted) + "...";
  return text;
}

}  // namespace

void JsonField::fail(std::string_view expected) const {
  throw Error(code_, to_text(path_, ": found ", described(*value_), ", expected ", expected));
}

void JsonField::require_object(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) fail("an object");
  for (const auto& item : value_->items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    throw Error(code_, to_text(path_, ": found the unknown field ", described(json(item.key())),
                               expected_text(item.key(), known)));
  }
}

JsonField JsonField::at(std::string_view key) const {
  const std::optional<JsonField> field = find(key);
  if (!field) throw Error(code_, to_text(path_, ": the field '", key, "' is missing"));
  return *field;
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  if (!value_->is_object()) fail("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonField(*found, to_text(path_, ".", key), code_);
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) fail("an array");
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    fields.emplace_back((*value_)[i], to_text(path_, "[", i, "]"), code_);
  }
  return fields;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonField>> fields;
  for (const auto& item : value_->items()) {
    fields.emplace_back(item.key(),
                        JsonField(item.value(), to_text(path_, ".", item.key()), code_));
  }
  return fields;
}

std::string JsonField::as_string() const {
  if (!value_->is_string()) fail("a string");
  return value_->get<std::string>();
}

bool JsonField::as_bool() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

std::int64_t JsonField::as_int(std::int64_t lowest, std::int64_t highest) const {
  const std::string expected = to_text("a whole number from ", lowest, " to ", highest);
  if (!value_->is_number_integer()) fail(expected);
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail(expected);
  }
  const auto value = value_->get<std::int64_t>();
  if (value < lowest || value > highest) fail(expected);
  return value;
}

double JsonField::as_double(double lowest, double highest) const {
  const auto expected = [&] { return to_text("a number from ", lowest, " to ", highest); };
  if (!value_->is_number()) fail(expected());
  const auto value = value_->get<double>();
  if (!(value >= lowest && value <= highest)) fail(expected());
  return value;
}

float JsonField::as_float() const {
  if (!value_->is_number()) fail("a number");
  const auto value = static_cast<float>(as_double(-1e300, 1e300));
  if (!std::isfinite(value)) fail("a number in the range of float32");
  return value;
}

std::vector<float> JsonField::as_floats() const {
  // elements() is not used here: these arrays are long and their paths are rarely needed.
  if (!value_->is_array()) fail("an array of numbers");
  std::vector<float> values;
  values.reserve(value_->size());
  for (const json& element : *value_) {
    const double value = element.is_number() ? element.get<double>() : std::nan("");
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow)) {
      JsonField(element, to_text(path_, "[", values.size(), "]"), code_)
          .fail("a number in the range of float32");
    }
    values.push_back(narrow);
  }
  return values;
}

std::uint64_t JsonField::as_hex() const {
  const std::string text = as_string();
  std::uint64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos || text.size() != 16) fail("16 hexadecimal digits");
    value = value << 4U | digit;
  }
  if (text.empty()) fail("16 hexadecimal digits");
  return value;
}

json parse_json(std::string_view text, std::int64_t most_bytes, std::string_view what,
                ErrorCode code) {
  if (static_cast<std::int64_t>(text.size()) > most_bytes) {
    throw Error(code,
                to_text(what, ": found ", text.size(), " bytes, expected at most ", most_bytes));
  }
  text = without_byte_order_mark(text);
  const std::string_view found = recognise_foreign_file(text);
  if (!found.empty()) throw Error(code, to_text(what, ": ", found, ", expected JSON"));
  std::int64_t events = 0;
  const auto limit = [&](int depth, json::parse_event_t /*event*/, const json& /*parsed*/) {
    if (depth > kMaxNesting) {
      throw Error(code, to_text(what, ": found more than ", kMaxNesting, " levels of nesting"));
    }
    if (++events > kMaxEvents) {
      throw Error(code, to_text(what, ": found more than ", kMaxEvents, " values"));
    }
    return true;
  };
  try {
    return json::parse(text, limit);
  } catch (const json::exception& error) {
    // The library's message starts with its own error number in brackets.
    std::string_view reason = error.what();
    const std::size_t bracket = reason.find("] ");
    if (bracket != std::string_view::npos) reason.remove_prefix(bracket + 2);
    throw Error(code, to_text(what, ": not JSON: ", reason.substr(0, 200)));
  }
}

nlohmann::ordered_json json_number(float value) {
  const double shortest = parse_double(to_text(value), "float");
  return static_cast<float>(shortest) == value ? shortest : static_cast<double>(value);
}

nlohmann::ordered_json json_numbers(const std::vector<float>& values) {
  nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
  for (const float value : values) numbers.push_back(json_number(value));
  return numbers;
}

}  // namespace qtool
