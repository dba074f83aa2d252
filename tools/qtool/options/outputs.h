#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "qtool/answers/answer.h"

namespace qtool::tool {

/// Whether a command also compares outputs of other kinds: decisions, texts, images.
enum class PsnrUse { kYes, kNo };

/// The value of --boxes that says that the network is no detector.
inline constexpr std::string_view kNoBoxes = "none";

/// The meaning of a network's outputs: --boxes, --box-score, --nms-iou, --mask, --decision, --text,
/// --ctc, --psnr.
class OutputOptions {
 public:
  void add_to(Command& command, PsnrUse psnr = PsnrUse::kYes);

  /// For a command that recognises detectors: --boxes also takes kNoBoxes. Call after add_to().
  void allow_no_boxes(Command& command) const;

  /// Whether no option says what the outputs are.
  [[nodiscard]] bool say_nothing() const;

  /// Reads the detector that --boxes names, and the other options. Call before reading a model.
  /// Throws Error(kUsage), and the errors of reading a file.
  [[nodiscard]] AnswerOptions read() const;

 private:
  std::string boxes_;
  std::string scores_;
  std::optional<double> nms_iou_;
  std::string mask_;
  std::optional<double> decision_;
  std::optional<std::int64_t> text_blank_;
  std::string charset_;
  std::optional<double> psnr_peak_;
};

}  // namespace qtool::tool
