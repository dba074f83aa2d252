#include "options_samples.h"

#include <vector>

#include "checks.h"
#include "files.h"

namespace qtool::tool {

void SampleOptions::add_to(Command& command, SamplesUse use) {
  command
      .add_option("--images", images,
                  "Folder of images, or list file\n"
                  "Sub-folders are classes; see qtool help lists.")
      ->type_name("DIR")
      ->group("Images");
  add_inputs_option(command, inputs)->group("Images");
  command.not_with("--inputs", {{"--images", {}}});
  if (use == SamplesUse::kMeasure) {
    command.add_option("--labels", labels, "File with one class name per line")
        ->type_name("FILE")
        ->group("Images");
    command.not_with("--labels", {{"--inputs", {}}});
    command.goes_with_files("--labels", Trait::kImageClasses);
    command.goes_with_files("--labels", Trait::kClassScores);
  }
  command.add_option("--limit", limit, "Use at most N images, spread evenly")
      ->type_name("N")
      ->check(whole_number_from(0))
      ->default_str("0 = all")
      ->group("Images");
  command.add_flag("--strict", strict, "Stop at an image that cannot be read, not leave it out")
      ->group("Images");
  if (use == SamplesUse::kRun) {
    command.goes_with("--limit", {{"--images", {}}, {"--inputs", {}}});
    command.goes_with("--strict", {{"--images", {}}});
  } else {
    command.not_with("--strict", {{"--inputs", {}}});
  }
}

CLI::Option* add_inputs_option(Command& command, std::string& inputs) {
  return command
      .add_option("--inputs", inputs,
                  "Files of tensors instead of images\n"
                  "Files or folders, for one or several inputs; see qtool help inputs.")
      ->type_name("DIR|FILE");
}

void SampleOptions::require_given() const {
  if (!given()) throw CLI::RequiredError("--images or --inputs");
}

Samples SampleOptions::list(const Graph& graph) const {
  if (!inputs.empty()) return Samples(list_input_tensors(inputs, graph, limit));
  const std::vector<std::string> names =
      labels.empty() ? std::vector<std::string>() : read_class_names(labels);
  return list_input_images(images, names, limit);
}

}  // namespace qtool::tool
