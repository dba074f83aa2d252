#include "auto/detector_advice.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "console.h"
#include "qtool/answers/answer.h"

namespace qtool::tool {

namespace {

// The value of a field in the options of a detector: given by itself, or by the preset that they
// begin with.
std::string value_in(const std::vector<std::string>& words, const PreprocessField field) {
  const std::string option = to_text("--", name_of(field));
  const auto given = std::ranges::find(words, option);
  if (given != words.end() && given + 1 != words.end()) return *(given + 1);
  const auto preset = std::ranges::find(words, "--preprocess");
  if (preset == words.end() || preset + 1 == words.end()) return {};
  return text_of(preprocess_preset(*(preset + 1)), field);
}

// The resize of a detector whose options begin with a preset. The size is that of the network,
// which the assumed preprocessing has, or else that of the preset. Empty if neither has one.
std::vector<std::string> usual_resize(const std::vector<std::string>& words,
                                      const Preprocess& assumed) {
  const auto option = std::ranges::find(words, "--preprocess");
  if (option == words.end() || option + 1 == words.end()) return {};
  const Preprocess preset = preprocess_preset(*(option + 1));
  const Preprocess& sized = assumed.resize == ResizeMode::kSquash ? assumed : preset;
  if (sized.resize_width == 0 || sized.resize_height == 0) return {};
  return {preset.resize == ResizeMode::kLetterbox ? "--letterbox" : "--resize",
          to_text(sized.resize_width, "x", sized.resize_height)};
}

}  // namespace

void recognise_boxes(Command& command, const Executor& fp32, const Samples& samples,
                     const SourcedPreprocess& preprocess, BadImages policy) {
  const RecognisedDetector found = recognise_detector(fp32, samples, preprocess.preprocess, policy);
  if (found.detector) {
    const std::string& name = found.detector->name;
    note(to_text("recognised a detector, ", name,
                 ", by the shapes of the outputs and their values on ", found.images,
                 found.images == 1 ? " image" : " images",
                 "; boxes are compared (--boxes none turns this off)"));
    command.find("--boxes").set({name});
  } else if (!found.doubt.empty()) {
    warning(to_text(
        "the outputs look like those of a detector, but no named one is recognised: ", found.doubt,
        ". If it is one, give --boxes and its name or a JSON file; else --boxes none"));
  }
}

UsualPreprocessing usual_preprocessing(const Command& command,
                                       const SourcedPreprocess& preprocess) {
  UsualPreprocessing usual;
  if (preprocess.assumed.empty()) return usual;
  usual.detector = command.find("--boxes").value();
  const auto infos = detectors();
  const auto info = std::ranges::find(infos, usual.detector, &DetectorInfo::name);
  if (info == infos.end() || info->preprocessing.empty()) return usual;
  usual.words = split(info->preprocessing, ' ');
  const auto fields = preprocess_fields();
  const auto missing = std::ranges::find_if(
      fields, [&](PreprocessField field) { return preprocess.assumed == name_of(field); });
  if (missing == fields.end()) return usual;
  if (*missing == PreprocessField::kResize) {
    usual.words = usual_resize(usual.words, preprocess.preprocess);
    return usual;
  }
  const std::string value = value_in(usual.words, *missing);
  if (value.empty()) return usual;
  usual.words = {to_text("--", name_of(*missing)), value};
  return usual;
}

}  // namespace qtool::tool
