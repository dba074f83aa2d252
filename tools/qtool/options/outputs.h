#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "qtool/answers/answer.h"

namespace qtool::tool {

/// Whether a command also compares outputs of other kinds: decisions, texts, images.
enum class PsnrUse { kYes, kNo };

/// The meaning of a network's outputs: --boxes, --box-score, --nms-iou, --mask, --decision, --text,
/// --ctc, --psnr.
class OutputOptions {
 public:
  void add_to(Command& command, PsnrUse psnr = PsnrUse::kYes);

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
