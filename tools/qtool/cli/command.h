#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/option.h"

namespace qtool::tool {

/// A condition in the rules between options. It is met if `option` is given or, if there are
/// `values`, if `option` has one of these values, given or by default.
struct Company {
  std::string option;
  std::vector<std::string> values;
};

/// Properties of the input files that some options need to have an effect; known once the files are
/// read.
enum class Trait : std::uint8_t {
  kClassScores,     ///< a network that answers with one score per class
  kClasses,         ///< as kClassScores, or --boxes or --mask say where classes are
  kImageClasses,    ///< images with known classes
  kRequantization,  ///< a model that stores the scales of its integers
  kWeights,         ///< a network that multiplies by constants
  kWinograd,        ///< a convolution that Winograd's algorithm can compute
  kLayerNames,      ///< a table in a format that names layers
};

/// One command of the program: its options, and everything that help pages, man pages, completion
/// and checks need to know about them. Arguments that name an option have the form of the command
/// line; a positional has its plain name.
class Command {
 public:
  Command(std::string name, std::string summary, std::vector<std::string> examples);

  /// Adds an option whose value goes into `variable`, which has one of the types of Variable. See
  /// Option().
  template <typename T>
  Option& option(std::string names, T& variable, std::string text) {
    return add(std::move(names), &variable, std::move(text));
  }
  Option& flag(std::string names, bool& variable, std::string text);
  /// Removes an option. No rule may name it.
  void remove(const std::string& option);
  /// Sets the action to run once all options have their values. The action sets Session::run.
  void on_parsed(std::function<void()> action) { action_ = std::move(action); }

  /// Sets the options that `--help` shows, in this order. `--help-all` shows every option.
  void show_first(std::vector<std::string> options) { first_ = std::move(options); }
  /// Adds a rule: `option` has no effect unless one of the conditions in `company` is met.
  void goes_with(const std::string& option, std::vector<Company> company);
  /// Adds a rule: `option` has no effect if any of the conditions in `company` is met.
  void not_with(const std::string& option, std::vector<Company> company);
  /// Adds a rule: `option` has no effect unless the files of the run have `trait`. found() checks
  /// it.
  void goes_with_files(const std::string& option, Trait trait);
  /// Notes that the value of `option` comes from the part of a configuration file that is for all
  /// commands. Such a value may have no effect.
  void note_shared(const std::string& option) { shared_.insert(option); }

  /// Throws Error(kUsage) for a given option that has no effect because of the other options.
  void require_effect() const;
  /// Throws Error(kUsage) for a given option that needs `trait` if the files do not have it.
  /// `holds`: whether the files have it; called only if such an option is given. `files` names the
  /// files: `model 'a.onnx'`.
  void found(Trait trait, const std::string& files, const std::function<bool()>& holds) const;
  /// Runs the action of on_parsed().
  void act() const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::vector<std::string>& examples() const { return examples_; }
  /// All options, --help and --help-all first.
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  [[nodiscard]] std::vector<const Option*> first_options() const;
  /// The option called `name`, which must exist.
  [[nodiscard]] Option& find(const std::string& name) { return require(name); }
  [[nodiscard]] const Option& find(const std::string& name) const { return require(name); }
  /// The option called `name`, or null.
  [[nodiscard]] const Option* find_or_null(const std::string& name) const { return look_up(name); }
  [[nodiscard]] bool given(const std::string& option) const { return find(option).given(); }
  /// The rules of an option as text, such as `Goes with --images.`; empty without rules.
  [[nodiscard]] std::string company_text(const Option& option) const;

 private:
  struct FileRule {
    std::string option;
    Trait trait;
  };
  enum class Effect { kOnlyWith, kNotWith };
  struct Rule {
    std::string option;
    Effect effect;
    std::vector<Company> company;
  };
  Option& add(std::string names, Variable variable, std::string text);
  [[nodiscard]] Option* look_up(const std::string& name) const;
  [[nodiscard]] Option& require(const std::string& name) const;
  [[nodiscard]] bool meant(const std::string& option) const;
  [[nodiscard]] bool there(const Company& company) const;
  [[nodiscard]] std::string broken(const Rule& rule) const;

  std::string name_;
  std::string summary_;
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<Option>> options_;
  std::function<void()> action_;
  std::vector<std::string> first_;
  std::vector<Rule> rules_;
  std::vector<FileRule> file_rules_;
  std::set<std::string> shared_;
};

}  // namespace qtool::tool
