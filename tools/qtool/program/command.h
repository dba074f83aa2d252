#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "program/option.h"

namespace qtool::tool {

/// An option that another one needs to have an effect: `option` is given or, if there are `values`,
/// has one of them, given or by default.
struct Company {
  std::string option;
  std::vector<std::string> values;
};

/// Properties of the input files that some options need to have an effect; known once the files are
/// read.
enum class Trait : std::uint8_t {
  kClassScores,     ///< a network that answers with one score per class
  kClasses,         ///< the same, or one of which --boxes or --mask say where its classes are
  kImageClasses,    ///< images of which a class is known
  kRequantization,  ///< a model that computes on integers of scales that it stores
  kWeights,         ///< a network that multiplies by constants
  kWinograd,        ///< a convolution that Winograd's algorithm suits
  kLayerNames,      ///< a table of a format that names layers
};

/// One command of the program: its options, and all that help pages, man pages, completion and
/// checks need to know about them. Options are named as on the command line, positionals by their
/// name.
class Command {
 public:
  Command(std::string name, std::string summary, std::vector<std::string> examples);

  /// Adds an option whose value goes into `variable`, of a type of Variable. See Option().
  template <typename T>
  Option& option(std::string names, T& variable, std::string text) {
    return add(std::move(names), &variable, std::move(text));
  }
  Option& flag(std::string names, bool& variable, std::string text);
  /// Takes back an option that no rule names.
  void remove(const std::string& option);
  /// What to do once all options have their values: sets Session::run.
  void on_parsed(std::function<void()> action) { action_ = std::move(action); }

  /// The options of `--help`, in this order; `--help-all` shows every one.
  void show_first(std::vector<std::string> options) { first_ = std::move(options); }
  /// `option` would be ignored unless one of `company` is there.
  void goes_with(const std::string& option, std::vector<Company> company);
  /// `option` would be ignored beside any of `company`.
  void not_with(const std::string& option, std::vector<Company> company);
  /// `option` would be ignored unless the files of the run have `trait`; found() settles it.
  void goes_with_files(const std::string& option, Trait trait);
  /// The value comes from a part of a configuration file that is for all commands, so it may have
  /// no effect here.
  void note_shared(const std::string& option) { shared_.insert(option); }

  /// Throws Error(kUsage) for a given option that would be ignored, as far as the other options
  /// decide it.
  void require_effect() const;
  /// The same of an option that goes with files of `trait`. `holds`: whether they have it, asked
  /// only where such an option is given; `files` names them: `model 'a.onnx'`.
  void found(Trait trait, const std::string& files, const std::function<bool()>& holds) const;
  /// Does what on_parsed() was told.
  void act() const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::vector<std::string>& examples() const { return examples_; }
  /// All options, --help and --help-all first.
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  [[nodiscard]] std::vector<const Option*> first_options() const;
  /// The option of that name; there must be one.
  [[nodiscard]] Option& find(const std::string& name) { return require(name); }
  [[nodiscard]] const Option& find(const std::string& name) const { return require(name); }
  /// The same, or null.
  [[nodiscard]] const Option* find_or_null(const std::string& name) const { return look_up(name); }
  [[nodiscard]] bool given(const std::string& option) const { return find(option).given(); }
  /// `Goes with --images.`, or nothing.
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
