#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace qtool::tool {

/// The reason why a command line is refused. The program prints it and says where to find help.
class CommandLineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks one value of an option. Returns the reason why the value is refused, in the form of the
/// library's messages: `found 5000, expected 0 to 1024`. Returns an empty text if the value fits.
/// May replace the value by its usual spelling.
using Check = std::function<std::string(std::string& value)>;

/// The variable that receives the value from the command line. Null for options that the program
/// itself handles, such as --help.
using Variable =
    std::variant<std::nullptr_t, bool*, int*, std::int64_t*, double*, std::string*,
                 std::vector<std::string>*, std::optional<int>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*>;

/// The group of the options that every command has; help pages show it last.
inline constexpr const char* kGeneralGroup = "General";

/// An option that takes values, a flag that takes none, or a positional argument. It holds the
/// description for help pages, the check of its values, and the values from the command line.
class Option {
 public:
  /// `names` as on the command line: `-o,--output`; without dashes it is a positional argument.
  /// `text` is a short sentence; details may follow after a newline.
  Option(std::string names, Variable variable, std::string text);
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  // Each of the following functions returns the option, so that calls can be chained.
  Option& text(std::string text);
  /// The word that stands for the value on help pages: `FILE`.
  Option& placeholder(std::string placeholder);
  /// The heading under which --help-all lists the option.
  Option& group(std::string group);
  Option& required();
  Option& check(Check check);
  /// Words that the shell completes. The option accepts other values too.
  Option& offer(std::vector<std::string> words);
  /// Makes the option accept only these words. The shell completes them.
  Option& one_of(std::vector<std::string> words);
  /// Makes the option accept the names of a list. The shell completes `words`. `canonical` returns
  /// the list's own spelling of a name, and throws Error for an unknown name.
  Option& name_of(std::vector<std::string> words,
                  std::function<std::string(std::string_view)> canonical);
  /// Makes help pages show the present value of the variable as the default.
  Option& show_default();
  /// Makes help pages show this text as the default.
  Option& show_default(std::string text);
  /// For an option with several values: the name must be repeated before each value. Without this,
  /// all words that follow the name are values.
  Option& one_value_each();

  [[nodiscard]] const std::string& names() const { return names_; }
  /// `--output`: the first long name, or else the first short name, or else the name of a
  /// positional.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// All names with their dashes: first the short names, then the long names.
  [[nodiscard]] std::vector<std::string> dashed_names() const;
  [[nodiscard]] const std::vector<std::string>& long_names() const { return long_names_; }
  [[nodiscard]] bool has_name(const std::string& name) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& placeholder() const { return placeholder_; }
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] const std::string& default_text() const { return default_text_; }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] const Check& check() const { return check_; }
  [[nodiscard]] const Variable& variable() const { return variable_; }
  [[nodiscard]] bool is_positional() const { return !positional_name_.empty(); }
  /// Whether the option takes no value.
  [[nodiscard]] bool is_flag() const;
  [[nodiscard]] bool is_required() const { return required_; }
  [[nodiscard]] bool takes_several() const;
  [[nodiscard]] bool takes_one_value_each() const { return one_value_each_; }
  /// Whether a configuration file may set the option.
  [[nodiscard]] bool is_configurable() const;

  /// The values that were given on the command line or in a configuration file; `true` for a flag.
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }
  [[nodiscard]] bool given() const { return !values_.empty(); }
  /// The value that the option has, given or by default; empty when it has none.
  [[nodiscard]] const std::string& value() const;
  /// Gives the option values as if they were on the command line. Call after the command line is
  /// read. Throws CommandLineError for values that do not fit.
  void set(const std::vector<std::string>& values);

  // For the parser: it stores the given values, and the function that set() calls.
  using Setter = std::function<void(const std::vector<std::string>& values)>;
  void take_values(std::vector<std::string> values) { values_ = std::move(values); }
  void take_setter(Setter setter) { setter_ = std::move(setter); }

 private:
  std::string names_;
  std::vector<std::string> short_names_;  // all names are without dashes
  std::vector<std::string> long_names_;
  std::string positional_name_;
  std::string name_;
  Variable variable_;
  std::string text_;
  std::string placeholder_;
  std::string group_;
  std::string default_text_;
  std::vector<std::string> words_;
  Check check_;
  bool required_ = false;
  bool one_value_each_ = false;
  std::vector<std::string> values_;
  Setter setter_;
};

}  // namespace qtool::tool
