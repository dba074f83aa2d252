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

/// Why a command line is refused. The program prints it with where to find help.
class CommandLineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Looks at one value of an option. Returns why the value is refused, in the form of the library's
/// messages: `found 5000, expected 0 to 1024`; nothing when it fits. May replace the value by the
/// usual spelling of it.
using Check = std::function<std::string(std::string& value)>;

/// The variable that gets what the command line says. Null for options that the program itself
/// obeys, such as --help.
using Variable =
    std::variant<std::nullptr_t, bool*, int*, std::int64_t*, double*, std::string*,
                 std::vector<std::string>*, std::optional<int>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*>;

/// The group of the options that every command has; help pages show it last.
inline constexpr const char* kGeneralGroup = "General";

/// An option that takes values, a flag that takes none, or a positional argument: what help pages
/// say of it, which values fit, and which ones the command line gave.
class Option {
 public:
  /// `names` as on the command line: `-o,--output`; without dashes it is a positional argument.
  /// `text` is a short sentence, and more after a newline.
  Option(std::string names, Variable variable, std::string text);
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  // Each of these returns the option, so that calls can be written in a row.
  Option& text(std::string text);
  /// What stands for the value on help pages: `FILE`.
  Option& placeholder(std::string placeholder);
  /// The heading of --help-all under which the option is.
  Option& group(std::string group);
  Option& required();
  Option& check(Check check);
  /// Values that the shell completes, beside any others.
  Option& offer(std::vector<std::string> words);
  /// Takes one of these words, which the shell completes, and nothing else.
  Option& one_of(std::vector<std::string> words);
  /// Takes a name of a list, of which the shell completes `words`. `canonical` returns the list's
  /// own spelling, and throws Error for an unknown name.
  Option& name_of(std::vector<std::string> words,
                  std::function<std::string(std::string_view)> canonical);
  /// Help pages show the value that the variable has now.
  Option& show_default();
  /// Help pages show this text as the default.
  Option& show_default(std::string text);
  /// Of an option with several values: each takes the name again. Otherwise all words that follow
  /// the name are values.
  Option& one_value_each();

  [[nodiscard]] const std::string& names() const { return names_; }
  /// `--output`: the first long name, or else the short one, or a positional's own.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// All names that begin with one dash, then those with two, with their dashes.
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
  /// Whether it takes no value.
  [[nodiscard]] bool is_flag() const;
  [[nodiscard]] bool is_required() const { return required_; }
  [[nodiscard]] bool takes_several() const;
  [[nodiscard]] bool takes_one_value_each() const { return one_value_each_; }
  /// Whether a configuration file may set it.
  [[nodiscard]] bool is_configurable() const;

  /// The values that were given, `true` for a flag; also those of a configuration file.
  [[nodiscard]] const std::vector<std::string>& values() const { return values_; }
  [[nodiscard]] bool given() const { return !values_.empty(); }
  /// The value that the option has, given or by default; empty when it has none.
  [[nodiscard]] const std::string& value() const;
  /// Gives it values as if they were on the command line. To be called once that is read. Throws
  /// CommandLineError for values that do not fit.
  void set(const std::vector<std::string>& values);

  // For the parser: what was given, and how to give values after that.
  using Setter = std::function<void(const std::vector<std::string>& values)>;
  void take_values(std::vector<std::string> values) { values_ = std::move(values); }
  void take_setter(Setter setter) { setter_ = std::move(setter); }

 private:
  std::string names_;
  std::vector<std::string> short_names_;  // without dashes, as the long ones
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
