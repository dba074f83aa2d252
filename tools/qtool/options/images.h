#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "model.h"
#include "options/samples.h"
#include "qtool/graph/graph.h"
#include "qtool/image/preprocess.h"
#include "report/preprocessing.h"

namespace qtool::tool {

/// For a command with --inputs: adds rules that refuse the options for preparing images beside
/// --inputs. Call when all of these options are added.
void refuse_preprocess_of_tensors(Command& command);

/// Makes `option` accept the values of read_preprocess(), as far as they can be checked without
/// reading a file.
void take_preprocess(Option& option);

/// The preset called `name`, or the preprocessing in the .json file `name`.
Preprocess read_preprocess(const std::string& name);

/// Gives the letterbox of the preset `name`, which suits any size, the size of the network's input.
/// Does nothing if the size is open, or if `name` is a file.
void fit_letterbox(const std::string& name, const Graph& graph, Preprocess& preprocess);

/// How images become the network's input. --preprocess names a whole preprocessing. Each other flag
/// changes one field of the named, stored or assumed preprocessing; --channels also brings mean and
/// std into the new order.
class PreprocessOptions {
 public:
  void add_to(Command& command);

  /// Sets a preprocessing from the configuration of another tool, as if --preprocess named it.
  /// --preprocess takes precedence.
  void name_by_default(Preprocess preprocess, std::string source);

  /// Reads the preprocessing that --preprocess names, and the other flags. Call before reading a
  /// model, so that typing errors are reported at once. Throws Error(kUsage), and the errors of
  /// reading a file.
  void read();

  /// The preprocessing to use for `graph`. Call after read(). Prints the whole preprocessing in a
  /// note. Sizes that are left open are taken from the network's input. Throws Error(kMismatch)
  /// when the result differs from the stored preprocessing, unless --force is given. Warns about
  /// doubtful or assumed fields.
  [[nodiscard]] SourcedPreprocess choose(const std::optional<StoredPreprocess>& stored,
                                         const Graph& graph) const;

  /// As choose(), but nothing if `samples` are tensors, which are fed unchanged.
  [[nodiscard]] std::optional<SourcedPreprocess> choose_for(
      const SampleOptions& samples, const std::optional<StoredPreprocess>& stored,
      const Graph& graph) const;

 private:
  struct Named {
    Preprocess preprocess;
    std::string source;
  };

  void apply_flags(SourcedPreprocess& sourced) const;
  void apply_resize(Preprocess& preprocess) const;
  void apply_size(Preprocess& preprocess) const;
  void apply_channels(const std::string& source, Preprocess& preprocess) const;
  [[nodiscard]] std::string flags_for(PreprocessField field) const;
  [[nodiscard]] std::string assumed_fields() const;

  std::string preprocess_;
  std::optional<Named> named_;
  std::string resize_;
  std::optional<std::int64_t> resize_shorter_;
  std::string crop_;
  std::string letterbox_;
  std::optional<int> fill_;
  std::string mean_;
  std::string std_;
  std::string channels_;
  std::string layout_;
  bool force_ = false;
};

}  // namespace qtool::tool
