#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {

/// A value of a parsed document with its path, which error messages name.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string path, ErrorCode code)
      : value_(&value), path_(std::move(path)), code_(code) {}

  /// Throws unless the value is an object that has no keys other than `keys`.
  void require_object(std::initializer_list<std::string_view> keys) const;
  /// A member of an object. Throws when it is absent.
  [[nodiscard]] JsonField at(std::string_view key) const;
  [[nodiscard]] std::optional<JsonField> find(std::string_view key) const;
  [[nodiscard]] std::vector<JsonField> elements() const;
  /// Every member of an object, by its key.
  [[nodiscard]] std::vector<std::pair<std::string, JsonField>> members() const;

  [[nodiscard]] bool is_object() const { return value_->is_object(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_string() const { return value_->is_string(); }
  [[nodiscard]] bool is_boolean() const { return value_->is_boolean(); }

  [[nodiscard]] std::string as_string() const;
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int(std::int64_t lowest, std::int64_t highest) const;
  [[nodiscard]] double as_double(double lowest, double highest) const;
  [[nodiscard]] float as_float() const;
  [[nodiscard]] std::vector<float> as_floats() const;
  [[nodiscard]] std::uint64_t as_hex() const;  ///< 16 hexadecimal digits

  /// Throws "<path>: found <value>, expected <expected>".
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
  ErrorCode code_;
};

/// Parses untrusted text of at most `most_bytes` bytes, a few levels of nesting and a bounded
/// number of values. Throws Error(code) with a message that starts with `what`.
nlohmann::json parse_json(std::string_view text, std::int64_t most_bytes, std::string_view what,
                          ErrorCode code);

/// The double that is printed with the shortest text of the float, so that files stay short.
nlohmann::ordered_json json_number(float value);
nlohmann::ordered_json json_numbers(const std::vector<float>& values);

}  // namespace qtool
