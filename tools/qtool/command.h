#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace qtool::tool {

class Command;
struct StepResults;

/// What parsing the command line decided: the work to do once all of it is known to be well-formed.
struct Session {
  std::function<void()> run;
  /// Where the command is a step of another one: takes its result, which is then not printed.
  StepResults* step = nullptr;
};

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

/// One sub-command: CLI11's class, with what help pages, man pages, completion and checks need to
/// know about its options in addition. Options are named as on the command line, positionals by
/// their name.
class Command : public CLI::App {
 public:
  Command(const std::string& summary, const std::string& name, std::vector<std::string> examples);

  /// The options of `--help`, in this order; `--help-all` shows every one.
  void show_first(std::vector<std::string> options) { first_ = std::move(options); }
  /// `option` would be ignored unless one of `company` is there.
  void goes_with(const std::string& option, std::vector<Company> company);
  /// `option` would be ignored beside any of `company`.
  void not_with(const std::string& option, std::vector<Company> company);
  /// `option` would be ignored unless the files of the run have `trait`; found() settles it.
  void goes_with_files(const std::string& option, Trait trait);
  /// Values to offer when the shell completes `option`.
  void offer(const CLI::Option* option, std::vector<std::string> words);
  /// The value comes from a part of a configuration file that is for all commands, so it may have
  /// no effect here.
  void note_shared(const std::string& option) { shared_.insert(option); }

  /// Throws Error(kUsage) for a given option that would be ignored, as far as the other options
  /// decide it.
  void require_effect() const;
  /// The same of an option that goes with files of `trait`. `holds`: whether they have it, asked
  /// only where such an option is given; `files` names them: `model 'a.onnx'`.
  void found(Trait trait, const std::string& files, const std::function<bool()>& holds) const;

  [[nodiscard]] const std::vector<std::string>& examples() const { return examples_; }
  [[nodiscard]] std::vector<const CLI::Option*> first_options() const;
  /// `Goes with --images.`, or nothing.
  [[nodiscard]] std::string company_text(const CLI::Option& option) const;
  [[nodiscard]] std::vector<std::string> words_of(const CLI::Option& option) const;

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
  [[nodiscard]] bool given(const std::string& option) const;
  [[nodiscard]] bool there(const Company& company) const;
  [[nodiscard]] std::string broken(const Rule& rule) const;

  std::vector<std::string> examples_;
  std::vector<std::string> first_;
  std::vector<Rule> rules_;
  std::vector<FileRule> file_rules_;
  std::map<const CLI::Option*, std::vector<std::string>> words_;
  std::set<std::string> shared_;
};

/// Adds a sub-command with its help text. `examples` are full command lines. Options that a
/// sub-command does not know are looked up in the program's own, so `--config` is accepted before
/// and after it.
Command* add_command(CLI::App& app, const std::string& name, const std::string& summary,
                     std::vector<std::string> examples);

/// Adds one command to the program; each cmd_*.cpp defines one, main.cpp lists them.
using AddCommand = void (*)(CLI::App& app, Session& session);

}  // namespace qtool::tool
