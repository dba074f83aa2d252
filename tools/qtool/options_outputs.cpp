#include "options_outputs.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "checks.h"
#include "files.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxDetectorBytes = 1 << 16;
constexpr const char* kGroup = "Outputs";
constexpr const char* kArgmax = "argmax";

/// Whether --boxes names a file, not a detector of ours.
bool is_file(std::string_view name) { return name.ends_with(".json"); }

Detector read_detector(const std::string& name) {
  if (!is_file(name)) return find_detector(name);
  return detector_from_json(read_input(name, kMaxDetectorBytes), name);
}

// The library's errors about a text are about an argument; here it came from an option.
double number_of(const std::string& text, const char* option) {
  try {
    const double value = parse_double(text, option);
    if (std::isfinite(value)) return value;
  } catch (const Error& error) {
    throw Error(ErrorCode::kUsage, error.what());
  }
  throw Error(ErrorCode::kUsage, concat(option, ": found '", text, "', expected a finite number"));
}

}  // namespace

void OutputOptions::add_to(Command& command, PsnrUse psnr) {
  std::vector<std::string> names;
  for (const DetectorInfo& detector : detectors()) names.emplace_back(detector.name);
  CLI::Option* boxes =
      command
          .add_option("--boxes", boxes_,
                      "The network is a detector: compare boxes, see qtool help detectors\n"
                      "A name, or a JSON file.")
          ->type_name("DETECTOR")
          ->group(kGroup);
  take_name(command, *boxes, names, [](std::string_view name) {
    if (!is_file(name)) static_cast<void>(find_detector(name));
    return std::string(name);
  });
  command
      .add_option("--box-score", scores_,
                  "Scores from which boxes count\n"
                  "Up to 16 numbers from 0 to 1, separated by commas.")
      ->type_name("S,S...")
      ->group(kGroup);
  command
      .add_option("--nms-iou", nms_iou_, "Overlap above which the lower box of a class is dropped")
      ->type_name("IOU")
      ->check(
          number([](double value) { return value >= 0.0 && value <= 1.0; }, "a number from 0 to 1"))
      ->group(kGroup);
  for (const char* option : {"--box-score", "--nms-iou"}) {
    command.goes_with(option, {{"--boxes", {}}});
  }
  command
      .add_option("--mask", mask_,
                  "The first output is a map: compare classes of pixels\n"
                  "argmax takes the highest channel, a number is the least value of a map's only "
                  "one.")
      ->type_name("argmax|T")
      ->group(kGroup);
  if (psnr == PsnrUse::kNo) return;
  command
      .add_option("--decision", decision_,
                  "The first output decides: compare which numbers are above this one")
      ->type_name("T")
      ->group(kGroup);
  command
      .add_option("--text", text_blank_,
                  "The first output spells a text: compare texts\n"
                  "The last axis scores classes for each step. Repeats are merged and class BLANK "
                  "is left out, as in networks trained with CTC.")
      ->type_name("BLANK")
      ->check(whole_number_from(0))
      ->group(kGroup);
  command
      .add_option("--psnr", psnr_peak_,
                  "The outputs are images of values up to this: print their PSNR")
      ->type_name("PEAK")
      ->check(number([](double value) { return value > 0.0 && value <= 1e9; },
                     "a number above 0 and up to 1e9"))
      ->group(kGroup);
}

AnswerOptions OutputOptions::read() const {
  AnswerOptions answers;
  if (!boxes_.empty()) {
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
  answers.psnr_peak = psnr_peak_;
  return answers;
}

}  // namespace qtool::tool
