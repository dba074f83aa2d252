#include "cli/help_topics.h"

#include <cstddef>

#include "base/text.h"
#include "cli/help_page.h"
#include "qtool/answers/answer.h"
#include "qtool/calib/format.h"
#include "qtool/calib/method.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"

namespace qtool::tool {
namespace {

constexpr std::size_t kNameWidth = 15;

// Adds one row for each entry of a list of the library: its name and its member `text`.
template <typename List, typename Entry, typename Text>
void add_rows(HelpLayout& page, const List& list, Text Entry::*text) {
  for (const Entry& entry : list) {
    page.row(std::string(entry.name), std::string(entry.*text), kNameWidth);
  }
}

std::string targets_text() {
  HelpLayout page;
  page.paragraph(
      "A target is a back-end that runs the quantized model: it decides which operators get "
      "integers and which types these have. --target NAME of calibrate and quantize chooses it; "
      "both need the same one.");
  page.title("Targets");
  add_rows(page, targets(), &Target::description);
  return page.take();
}

std::string presets_text() {
  HelpLayout page;
  page.paragraph(
      "A preset says how an image becomes the network's input: size, order of the channels, mean "
      "and deviation. --preprocess NAME takes one, or a JSON file; flags such as --resize and "
      "--mean change it.");
  page.title("Presets");
  add_rows(page, preprocess_presets(), &PreprocessPreset::summary);
  return page.take();
}

std::string detectors_text() {
  HelpLayout page;
  page.paragraph(
      "A detector says how the outputs of a network become boxes: --boxes NAME of auto, analyze, "
      "eval, infer and search. "
      "FP32's boxes are the truth for those of INT8. auto recognises it by the outputs; "
      "--boxes none turns that off.");
  page.title("Detectors");
  add_rows(page, detectors(), &DetectorInfo::summary);
  page.paragraph(
      "\nAny other is a JSON file: --boxes FILE.json. This one says what yolox does; "
      "docs/detectors.md has every field.");
  page.line("  {\"boxes\": {\"outputs\": [0], \"channels\": \"last\", \"first\": 0,");
  page.line("             \"form\": \"centre\",");
  page.line("             \"position\": {\"unit\": \"cells\"},");
  page.line("             \"size\": {\"function\": \"exp\", \"unit\": \"cells\"}},");
  page.line("   \"scores\": {\"outputs\": [0], \"channels\": \"last\", \"first\": 5,");
  page.line("              \"objectness\": {\"channel\": 4}},");
  page.line("   \"grid\": {\"levels\": [{\"stride\": 8}, {\"stride\": 16}, {\"stride\": 32}]},");
  page.line("   \"thresholds\": [0.3, 0.5, 0.7], \"nms_iou\": 0.45}");
  return page.take();
}

std::string methods_text() {
  HelpLayout page;
  page.paragraph(
      "A method chooses the range of each tensor from its statistics: calibrate --method NAME.");
  page.title("Methods");
  add_rows(page, methods(), &MethodInfo::summary);
  page.title("Names of other tools");
  for (const MethodInfo& method : methods()) {
    std::string names;
    for (const MethodAlias& alias : method_aliases()) {
      if (alias.name == method.name) names += to_text(names.empty() ? "" : ", ", alias.alias);
    }
    if (!names.empty()) page.row(std::string(method.name), names, kNameWidth);
  }
  page.paragraph("\nCapitals count as small letters, hyphens as underscores: KL, Min-Max.");
  page.paragraph("\nA weight method chooses the scales of weights: --weight-method NAME.");
  page.title("Weight methods");
  add_rows(page, weight_methods(), &WeightMethodInfo::summary);
  return page.take();
}

std::string formats_text() {
  HelpLayout page;
  page.paragraph(
      "Calibration tables of this and other tools. quantize --table and the table command read "
      "each of them and know it by its content; table convert --to NAME writes it.");
  page.title("Formats");
  add_rows(page, formats(), &FormatInfo::summary);
  return page.take();
}

std::string lists_text() {
  HelpLayout page;
  page.paragraph(
      "--images takes a folder or a list file. In a folder, every image counts, however deep; "
      "the folder it lies in is its class. Names that begin with a dot are left out. Every result "
      "says which images could not be read, and which are in formats that are not read.");
  page.paragraph(
      "\nA list file has one image per line, in the order in which they run, with paths relative "
      "to the list. A class may follow, after a tab or a blank: its index, or its name as in "
      "--labels. Empty lines and lines that begin with # are left out.");
  page.title("Example");
  page.line("  # path and class");
  page.line("  stop/000.jpg stop");
  page.line("  yield/004.jpg 3");
  page.paragraph(
      "\n--labels names a file with one class name per line, in the order of the network's "
      "outputs. Without it, class folders count in the order of their names.");
  return page.take();
}

std::string inputs_text() {
  HelpLayout page;
  page.paragraph(
      "--inputs takes tensors for networks whose inputs are no images. They are fed as they are. "
      "Files end in npy, npz (arrays under the inputs' names), pb (a TensorProto of ONNX), bin or "
      "raw (elements as in memory), or wav (sound of one channel; --window and --hop cut it).");
  page.paragraph(
      "\nAn array has the input's shape, or an axis more in front: the samples. Where the input's "
      "first extent is 1 or open, that axis counts samples too.");
  page.paragraph(
      "\n--state INPUT=OUTPUT feeds an output back as the next sample's input, which then needs no "
      "file.");
  page.title("One of");
  page.row("a file", "the only input's array, or an npz archive for all inputs", kNameWidth);
  page.row("a folder", "of such files, in the order of their names", kNameWidth);
  page.row("folders", "one in it for each input, with files of the same names", kNameWidth);
  page.row("data sets", "input_0.pb, input_1.pb ... in it, or in folders in it", kNameWidth);
  page.row("a list", "a .jsonl file: in each line a file for each input", kNameWidth);
  page.title("Example");
  page.line("  {\"input\": \"a/chunk.npy\", \"state\": \"a/state.npy\"}");
  return page.take();
}

}  // namespace

const std::vector<HelpTopic>& help_topics() {
  static const std::vector<HelpTopic> kTopics = {
      {"targets", "back-ends to quantize for", targets_text},
      {"presets", "how images become the network's input", presets_text},
      {"detectors", "how outputs become boxes", detectors_text},
      {"methods", "how ranges and scales are chosen", methods_text},
      {"formats", "calibration tables of this and other tools", formats_text},
      {"lists", "image folders, list files and labels", lists_text},
      {"inputs", "tensors for networks whose inputs are no images", inputs_text},
  };
  return kTopics;
}

}  // namespace qtool::tool
