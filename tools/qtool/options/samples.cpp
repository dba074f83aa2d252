#include "options/samples.h"

#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/value_checks.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxParts = 1000;

struct Part {
  std::int64_t number = 1;
  std::int64_t parts = 1;
};

// Reads a part such as `1/2`; nothing if `text` is not a part.
std::optional<Part> parse_part(const std::string& text) {
  try {
    const std::vector<std::string> numbers = split(text, '/');
    if (numbers.size() != 2) return std::nullopt;
    const Part part{parse_int(numbers[0], "--part"), parse_int(numbers[1], "--part")};
    const bool there = part.number >= 1 && part.number <= part.parts && part.parts <= kMaxParts;
    return there ? std::optional(part) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void SampleOptions::add_to(Command& command, SamplesUse use) {
  command
      .option("--images", images,
              "Folder of images, or list file\n"
              "Sub-folders are classes; see qtool help lists.")
      .placeholder("DIR")
      .group("Images");
  add_inputs_option(command, inputs).group("Images");
  command.not_with("--inputs", {{"--images", {}}});
  if (use == SamplesUse::kMeasure) {
    command.option("--labels", labels, "File with one class name per line")
        .placeholder("FILE")
        .group("Images");
    command.not_with("--labels", {{"--inputs", {}}});
    command.goes_with_files("--labels", Trait::kImageClasses);
    command.goes_with_files("--labels", Trait::kClassScores);
  }
  command
      .option("--part", part,
              "Use part K of N: every Nth image, from the Kth on\n"
              "Parts have no image in common: calibrate on 1/2 and compare on 2/2.")
      .placeholder("K/N")
      .check([](const std::string& text) {
        return parse_part(text)
                   ? std::string()
                   : to_text("found '", text, "', expected K/N with K from 1 to N, N up to ",
                             kMaxParts, ", such as 1/2");
      })
      .group("Images");
  command.option("--limit", limit, "Use at most N images, spread evenly")
      .placeholder("N")
      .check(whole_number_from(0))
      .show_default("0 = all")
      .group("Images");
  command.flag("--strict", strict, "Stop at an image that cannot be read, not leave it out")
      .group("Images");
  if (use == SamplesUse::kRun) {
    for (const char* option : {"--part", "--limit"}) {
      command.goes_with(option, {{"--images", {}}, {"--inputs", {}}});
    }
    command.goes_with("--strict", {{"--images", {}}});
  } else {
    command.not_with("--strict", {{"--inputs", {}}});
  }
}

Option& add_inputs_option(Command& command, std::string& inputs) {
  return command
      .option("--inputs", inputs,
              "Files of tensors instead of images\n"
              "Files or folders, for one or several inputs; see qtool help inputs.")
      .placeholder("DIR|FILE");
}

void SampleOptions::require_given() const {
  if (!given()) throw CommandLineError("--images or --inputs is required");
}

Samples SampleOptions::list_all(const Graph& graph) const {
  if (!inputs.empty()) {
    return Samples(list_input_tensors(inputs, graph, 0, sequence.reading()));
  }
  const std::vector<std::string> names =
      labels.empty() ? std::vector<std::string>() : read_class_names(labels);
  return list_input_images(images, names);
}

Samples SampleOptions::list(const Graph& graph) const {
  Samples samples = list_all(graph);
  if (!part.empty()) {
    const Part chosen = parse_part(part).value();
    const std::int64_t all = samples.size();
    samples = samples.part(chosen.number - 1, chosen.parts);
    if (samples.size() == 0) {
      throw Error(ErrorCode::kUsage,
                  to_text("--part ", part, ": is empty, since there ", all == 1 ? "is " : "are ",
                          all, " ", samples.noun(), all == 1 ? "" : "s"));
    }
  }
  return limit > 0 ? samples.spread(limit) : samples;
}

bool SampleOptions::lists_all(const Graph& graph, const Samples& listed) const {
  if (limit == 0) return true;
  SampleOptions all = *this;
  all.limit = 0;
  return all.list(graph).size() == listed.size();
}

std::optional<SampleOptions> SampleOptions::half(std::int64_t number) const {
  const Part whole = part.empty() ? Part() : parse_part(part).value();
  if (2 * whole.parts > kMaxParts) return std::nullopt;
  SampleOptions options = *this;
  options.part = to_text(whole.number + (number - 1) * whole.parts, "/", 2 * whole.parts);
  return options;
}

}  // namespace qtool::tool
