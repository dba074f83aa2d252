#include "answers/detector_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/percent.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr double kTolerance = 0.01;     // of a probability, for the rounding of half precision
constexpr std::size_t kManyRows = 500;  // fewer may all lie on one object
constexpr double kLeastSpread = 0.1;    // of the input
constexpr double kMostWithoutCorners = 0.5;

}  // namespace

double spread_of(std::vector<float> values) {
  const std::size_t tail = values.size() / 20;
  const auto at = [&](std::size_t rank) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin(), middle, values.end());
    return static_cast<double>(*middle);
  };
  const double high = at(values.size() - 1 - tail);
  return high - at(tail);
}

std::optional<std::string> misfit_of(const Detector& detector, const BoxSurvey& survey) {
  if (survey.rows < 2) {
    return to_text("its outputs have ", survey.rows, " row, expected one for each box");
  }
  if (!survey.is_finite) return std::nullopt;
  if (survey.lowest_score < -kTolerance || survey.highest_score > 1.0 + kTolerance) {
    return to_text("found scores from ", to_fixed(survey.lowest_score, 2), " to ",
                   to_fixed(survey.highest_score, 2), ", expected 0 to 1");
  }
  const auto found = static_cast<double>(survey.centres_x.size());
  const auto rows = static_cast<double>(survey.rows);
  if (found < (1.0 - kMostWithoutCorners) * rows) {
    return to_text("found ", percent(1.0 - found / rows, 1), " of the rows with corners beyond ",
                   to_fixed(kFarthestCorner, 0), " pixels, expected none");
  }
  if (!detector.grid.empty() || survey.centres_x.size() < kManyRows) return std::nullopt;
  const double wide = spread_of(survey.centres_x);
  const double high = spread_of(survey.centres_y);
  if (wide >= kLeastSpread * survey.width || high >= kLeastSpread * survey.height) {
    return std::nullopt;
  }
  return to_text("found the centres of 90 % of ", survey.centres_x.size(), " rows within ",
                 to_fixed(wide, 1), "x", to_fixed(high, 1), " pixels, expected them all over the ",
                 to_fixed(survey.width, 0), "x", to_fixed(survey.height, 0),
                 " pixels of the input");
}

void require_fit(const BoxDecoder& decoder, std::span<const TensorView> outputs) {
  const Detector& detector = decoder.detector();
  const std::optional<std::string> misfit = misfit_of(detector, decoder.survey(outputs, 0));
  if (!misfit) return;
  throw Error(ErrorCode::kMismatch,
              to_text("detector '", detector.name, "' does not fit the network: ", *misfit));
}

}  // namespace qtool
