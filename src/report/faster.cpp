#include "report/faster.h"

#include <nlohmann/json.hpp>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/answers_json.h"
#include "report/durations.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

std::string interval(const MedianInterval& time) {
  return to_text(milliseconds(time.median), " ms (", milliseconds(time.low), " to ",
                 milliseconds(time.high), ")");
}

}  // namespace

std::string text_of(const FasterResult& result) {
  std::string text = "--faster-only, in qtool on this machine: ";
  if (result.fp32_alone) {
    text += "FP32 is faster than every mix with integers that was tried; nothing is on integers\n";
  } else if (result.exclude.empty()) {
    text +=
        to_text("nothing is measurably faster in FP32 (", result.tried, " sets of layers tried)\n");
  } else {
    text += to_text(result.exclude.size(), " of the nodes stay in FP32, which is faster:");
    for (const std::string& node : result.exclude) text += to_text(" '", printable(node), "'");
    text += "\n";
  }
  text += to_text("  all that can be on integers ", milliseconds(result.int8_seconds), " ms, FP32 ",
                  milliseconds(result.fp32_seconds), " ms");
  if (!result.exclude.empty() && !result.fp32_alone) {
    text += to_text(", the mix ", milliseconds(result.mixed_seconds), " ms\n  mix minus integers ",
                    interval(result.gained), ", ",
                    percent(result.gained.median / result.int8_seconds, 1));
  }
  return to_text(text, "; mix or integers minus FP32 ", interval(result.over_fp32),
                 "\n  medians of ", result.repeat, " runs in turn on ", result.threads,
                 result.threads == 1 ? " thread" : " threads", ", with intervals of 95 %\n");
}

std::string json_of(const FasterResult& result) {
  const Json json{{"exclude", result.exclude},
                  {"fp32_alone", result.fp32_alone},
                  {"tried", result.tried},
                  {"threads", result.threads},
                  {"repeat", result.repeat},
                  {"fp32_seconds", result.fp32_seconds},
                  {"int8_seconds", result.int8_seconds},
                  {"mixed_seconds", result.mixed_seconds},
                  {"mixed_minus_int8_seconds", median_json(result.gained)},
                  {"mixed_minus_fp32_seconds", median_json(result.over_fp32)}};
  return json_text(json);
}

}  // namespace qtool
