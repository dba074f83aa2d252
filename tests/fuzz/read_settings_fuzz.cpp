// Reads any bytes as each of the small files that a user may give: overrides, preprocessing, a
// configuration of MNN's tool, a name map, a detector; and as the class names in the metadata of a
// model. Anything but a result or an Error is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "qtool/answers/annotations.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/overrides.h"
#include "qtool/image/preprocess.h"

namespace {

template <typename Read>
void expect(qtool::ErrorCode code, const Read& read) {
  try {
    read();
  } catch (const qtool::Error& error) {
    if (error.code() != code) std::abort();
  }
}

void apply(const qtool::Overrides& overrides) {
  qtool::CalibrationTable table;
  for (const char* tensor : {"data", "conv1_out", "head/logits"}) {
    qtool::ActivationEntry entry;
    entry.tensor = tensor;
    entry.range = {-1.0F, 2.0F};
    table.activations.push_back(entry);
  }
  try {
    qtool::apply_overrides(overrides, {}, nullptr, table);
  } catch (const qtool::Error& error) {
    const bool expected = error.code() == qtool::ErrorCode::kUsage ||
                          error.code() == qtool::ErrorCode::kInvalidArgument;
    if (!expected) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect(qtool::ErrorCode::kInvalidArgument, [&] { apply(qtool::read_overrides(text)); });
  expect(qtool::ErrorCode::kUsage, [&] {
    const qtool::Preprocess preprocess = qtool::preprocess_from_json(text);
    if (!(qtool::preprocess_from_json(qtool::to_json_text(preprocess)) == preprocess)) std::abort();
  });
  expect(qtool::ErrorCode::kUsage, [&] { static_cast<void>(qtool::layer_names_from_json(text)); });
  expect(qtool::ErrorCode::kUsage, [&] { static_cast<void>(qtool::read_mnn_config(text)); });
  expect(qtool::ErrorCode::kUsage,
         [&] { static_cast<void>(qtool::detector_from_json(text, "fuzz")); });
  if (const auto names = qtool::class_names_from_text(text); names && names->empty()) std::abort();
  return 0;
}
