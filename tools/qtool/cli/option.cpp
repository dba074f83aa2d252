#include "cli/option.h"

#include <algorithm>
#include <sstream>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

// The value of a variable as help pages show it: numbers with six digits.
std::string default_of(const Variable& variable) {
  const auto shown = [](auto target) {
    using Target = decltype(target);
    constexpr bool kShows = std::is_same_v<Target, std::string*> || std::is_same_v<Target, int*> ||
                            std::is_same_v<Target, std::int64_t*> ||
                            std::is_same_v<Target, double*>;
    std::ostringstream text;
    if constexpr (kShows) text << *target;
    return text.str();
  };
  return std::visit(shown, variable);
}

}  // namespace

Option::Option(std::string names, Variable variable, std::string text)
    : names_(std::move(names)), variable_(variable), text_(std::move(text)) {
  for (const std::string& name : split(names_, ',')) {
    if (name.starts_with("--")) {
      long_names_.push_back(name.substr(2));
    } else if (name.starts_with('-')) {
      short_names_.push_back(name.substr(1));
    } else {
      positional_name_ = name;
    }
  }
  name_ = !long_names_.empty()    ? to_text("--", long_names_.front())
          : !short_names_.empty() ? to_text("-", short_names_.front())
                                  : positional_name_;
}

Option& Option::text(std::string text) {
  text_ = std::move(text);
  return *this;
}

Option& Option::placeholder(std::string placeholder) {
  placeholder_ = std::move(placeholder);
  return *this;
}

Option& Option::group(std::string group) {
  group_ = std::move(group);
  return *this;
}

Option& Option::required() {
  required_ = true;
  return *this;
}

Option& Option::check(Check check) {
  check_ = std::move(check);
  return *this;
}

Option& Option::offer(std::vector<std::string> words) {
  words_ = std::move(words);
  return *this;
}

Option& Option::one_of(std::vector<std::string> words) {
  offer(words);
  return check([words = std::move(words)](const std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
    return to_text("found '", value, "', expected ", alternatives(words));
  });
}

Option& Option::name_of(std::vector<std::string> words,
                        std::function<std::string(std::string_view)> canonical) {
  offer(std::move(words));
  return check([canonical = std::move(canonical)](std::string& value) {
    try {
      value = canonical(value);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  });
}

Option& Option::show_default() { return show_default(default_of(variable_)); }

Option& Option::show_default(std::string text) {
  default_text_ = std::move(text);
  return *this;
}

Option& Option::one_value_each() {
  one_value_each_ = true;
  return *this;
}

std::vector<std::string> Option::dashed_names() const {
  std::vector<std::string> names;
  for (const std::string& name : short_names_) names.push_back("-" + name);
  for (const std::string& name : long_names_) names.push_back("--" + name);
  return names;
}

bool Option::has_name(const std::string& name) const {
  if (!name.starts_with('-')) return is_positional() && name == positional_name_;
  const std::vector<std::string> names = dashed_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Option::is_flag() const {
  return std::holds_alternative<bool*>(variable_) ||
         (std::holds_alternative<std::nullptr_t>(variable_) && placeholder_.empty());
}

bool Option::takes_several() const {
  return std::holds_alternative<std::vector<std::string>*>(variable_);
}

bool Option::is_configurable() const { return !std::holds_alternative<std::nullptr_t>(variable_); }

const std::string& Option::value() const { return given() ? values_.back() : default_text_; }

void Option::set(const std::vector<std::string>& values) {
  if (!setter_) throw std::logic_error(to_text(name_, " is set before the command line is read"));
  setter_(values);
}

}  // namespace qtool::tool
