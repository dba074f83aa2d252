#include "options/outputs.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/value_checks.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxDetectorBytes = 1 << 16;
constexpr std::int64_t kMaxCharsetBytes = 1 << 22;
constexpr const char* kOutputsGroup = "Outputs";
constexpr const char* kArgmax = "argmax";

/// Whether --boxes names a file, not a built-in detector.
bool is_detector_file(std::string_view name) { return name.ends_with(".json"); }

Detector read_detector(const std::string& name) {
  if (!is_detector_file(name)) return find_detector(name);
  return detector_from_json(read_input(name, kMaxDetectorBytes), name);
}

std::vector<std::string> detector_names() {
  std::vector<std::string> names;
  for (const DetectorInfo& detector : detectors()) names.emplace_back(detector.name);
  return names;
}

// The value of --boxes in the spelling of the list.
std::string detector_name(std::string_view name) {
  if (!is_detector_file(name)) static_cast<void>(find_detector(name));
  return std::string(name);
}

// The library reports a wrong number as a wrong argument. Here it came from an option, so the error
// names the option.
double number_of(const std::string& text, const char* option) {
  try {
    const double value = parse_double(text, option);
    if (std::isfinite(value)) return value;
  } catch (const Error& error) {
    throw Error(ErrorCode::kUsage, error.what());
  }
  throw Error(ErrorCode::kUsage, to_text(option, ": found '", text, "', expected a finite number"));
}

// The characters of all classes: the lines of the file with the blank between them, and a space at
// the end. A line may be a space.
std::vector<std::string> read_characters(const std::string& name, std::int64_t blank) {
  std::string bytes = read_input(name, kMaxCharsetBytes);
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
  if (bytes.ends_with('\n')) bytes.pop_back();
  std::vector<std::string> characters = split(bytes, '\n');
  for (std::size_t i = 0; i < characters.size(); ++i) {
    std::string& line = characters[i];
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) {
      throw Error(ErrorCode::kUsage,
                  to_text("--ctc '", name, "': line ", i + 1, " is empty, expected a character"));
    }
  }
  characters.emplace_back(" ");
  if (blank > std::ssize(characters)) {
    throw Error(ErrorCode::kUsage, to_text("--text ", blank, ": '", name, "' has characters for ",
                                           characters.size(), " classes beside the blank"));
  }
  characters.insert(characters.begin() + blank, "");
  return characters;
}

}  // namespace

void OutputOptions::add_to(Command& command, PsnrUse psnr) {
  command
      .option("--boxes", boxes_,
              "The network is a detector: compare boxes, see qtool help detectors\n"
              "A name, or a JSON file.")
      .placeholder("DETECTOR")
      .group(kOutputsGroup)
      .name_of(detector_names(), detector_name);
  command
      .option("--box-score", scores_,
              "Scores from which boxes count\n"
              "Up to 16 numbers from 0 to 1, separated by commas.")
      .placeholder("S,S...")
      .group(kOutputsGroup);
  command.option("--nms-iou", nms_iou_, "Overlap above which the lower box of a class is dropped")
      .placeholder("IOU")
      .check(
          number([](double value) { return value >= 0.0 && value <= 1.0; }, "a number from 0 to 1"))
      .group(kOutputsGroup);
  for (const char* option : {"--box-score", "--nms-iou"}) {
    command.goes_with(option, {{"--boxes", {}}});
  }
  command
      .option("--mask", mask_,
              "The first output is a map: compare classes of pixels\n"
              "argmax takes the highest channel, a number is the least value of a map's only "
              "one.")
      .placeholder("argmax|T")
      .group(kOutputsGroup);
  if (psnr == PsnrUse::kNo) return;
  command
      .option("--decision", decision_,
              "The first output decides: compare which numbers are above this one")
      .placeholder("T")
      .group(kOutputsGroup);
  command
      .option("--text", text_blank_,
              "The first output spells a text: compare texts\n"
              "The last axis scores classes for each step. Repeats are merged and class BLANK "
              "is left out, as in networks trained with CTC.")
      .placeholder("BLANK")
      .check(whole_number_from(0))
      .group(kOutputsGroup);
  command
      .option(
          "--ctc", charset_,
          "The same with a file of the characters, one per line\n"
          "Class 0 is the blank unless --text names another, the others are the lines, and maybe "
          "a space at the end, as in PaddleOCR.")
      .placeholder("FILE")
      .group(kOutputsGroup);
  command
      .option("--psnr", psnr_peak_, "The outputs are images of values up to this: print their PSNR")
      .placeholder("PEAK")
      .check(number([](double value) { return value > 0.0 && value <= 1e9; },
                    "a number above 0 and up to 1e9"))
      .group(kOutputsGroup);
}

void OutputOptions::allow_no_boxes(Command& command) const {
  std::vector<std::string> names = detector_names();
  names.emplace_back(kNoBoxes);
  command.find("--boxes")
      .text(
          "The network is a detector: compare boxes, see qtool help detectors\n"
          "A name, or a JSON file. Without it, the outputs are looked at; none: do not.")
      .name_of(names, [](std::string_view name) {
        return name == kNoBoxes ? std::string(name) : detector_name(name);
      });
}

bool OutputOptions::say_nothing() const {
  return boxes_.empty() && mask_.empty() && !decision_ && !text_blank_ && charset_.empty() &&
         !psnr_peak_;
}

AnswerOptions OutputOptions::read() const {
  AnswerOptions answers;
  if (boxes_ == kNoBoxes && (!scores_.empty() || nms_iou_)) {
    throw Error(ErrorCode::kUsage, to_text(scores_.empty() ? "--nms-iou" : "--box-score",
                                           ": needs a detector, found --boxes none"));
  }
  if (!boxes_.empty() && boxes_ != kNoBoxes) {
    Detector detector = read_detector(boxes_);
    if (!scores_.empty()) {
      detector.thresholds.clear();
      for (const std::string& score : split(scores_, ',')) {
        detector.thresholds.push_back(number_of(score, "--box-score"));
      }
      std::ranges::sort(detector.thresholds);
    }
    if (nms_iou_) detector.nms_iou = *nms_iou_;
    check(detector);
    answers.boxes = std::move(detector);
  }
  if (!mask_.empty()) {
    answers.mask.emplace();
    if (mask_ != kArgmax) answers.mask->threshold = number_of(mask_, "--mask");
  }
  answers.decision = decision_;
  answers.text_blank = text_blank_;
  if (!charset_.empty()) {
    answers.text_blank = text_blank_.value_or(0);
    answers.characters = read_characters(charset_, *answers.text_blank);
  }
  answers.psnr_peak = psnr_peak_;
  return answers;
}

}  // namespace qtool::tool
