#include "answers/detector_signs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "answers/detector_fit.h"
#include "base/percent.h"
#include "base/text.h"

namespace qtool {
namespace {

constexpr double kMargin = 0.25;      // of the input: some centres lie a little outside
constexpr double kMostOutside = 0.1;  // of the rows
constexpr double kCellSpread = 0.3;   // of the input
constexpr double kMostMisordered = 0.05;
constexpr double kShareMargin = 0.5;  // corners of large objects lie outside the input
constexpr double kRounding = 0.01;
constexpr double kLeastClass = 0.1;              // of an object, the probability of its class
constexpr std::size_t kYolov8CocoChannels = 84;  // 4 + 80 classes

// What is wrong with centres that must lie on the cells of grids.
std::string off_cells(const BoxSurvey& survey) {
  std::int64_t outside = 0;
  for (std::size_t i = 0; i < survey.centres_x.size(); ++i) {
    const double x = static_cast<double>(survey.centres_x[i]) / survey.width;
    const double y = static_cast<double>(survey.centres_y[i]) / survey.height;
    const auto is_in = [](double share) { return share >= -kMargin && share <= 1.0 + kMargin; };
    if (!is_in(x) || !is_in(y)) ++outside;
  }
  const auto rows = static_cast<double>(survey.rows);
  const auto lost = static_cast<double>(survey.rows - std::ssize(survey.centres_x) + outside);
  const auto size = [&](double width, double height) {
    return to_text(to_fixed(width, 0), "x", to_fixed(height, 0), " pixels");
  };
  if (lost > kMostOutside * rows) {
    return to_text("found ", percent(lost / rows, 1), " of the centres outside the ",
                   size(survey.width, survey.height), " of the input, expected at most ",
                   percent(kMostOutside, 0));
  }
  const double wide = spread_of(survey.centres_x);
  const double high = spread_of(survey.centres_y);
  if (wide >= kCellSpread * survey.width && high >= kCellSpread * survey.height) return {};
  return to_text("found 90 % of the centres within ", size(wide, high),
                 ", expected them all over the ", size(survey.width, survey.height),
                 " of the input");
}

// The classes of a cell are probabilities that sum to 1: softmax has been applied to them. Its
// objectness is a probability of its own.
std::string no_class_sums(const Detector& detector, const TensorView& map) {
  const std::span<const float> values = map.values<float>();
  const auto cells = static_cast<std::size_t>(map.shape[2] * map.shape[3]);
  const auto first = static_cast<std::size_t>(detector.first_class_channel);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    double sum = 0.0;
    for (std::size_t c = first; c < static_cast<std::size_t>(map.shape[1]); ++c) {
      sum += static_cast<double>(values[c * cells + cell]);
    }
    if (std::abs(sum - 1.0) > 2.0 * kRounding) {
      return to_text("found classes of a cell that sum to ", to_fixed(sum, 2), ", expected 1");
    }
  }
  return {};
}

// The numbers of the boxes in rows of `channels` numbers, of which the first four are the box.
struct BoxNumbers {
  double misordered = 0.0;  // share of the rows whose right or bottom corner precedes the left, top
  double outside = 0.0;     // share of the rows with a number below -margin or above 1 + margin
  double lowest = 0.0;
  double highest = 0.0;
};

BoxNumbers numbers_of(const TensorView& boxes, double margin) {
  const auto channels = static_cast<std::size_t>(boxes.shape[2]);
  const auto rows = static_cast<std::size_t>(boxes.shape[1]);
  const std::span<const float> values = boxes.values<float>();
  BoxNumbers numbers;
  std::int64_t misordered = 0;
  std::int64_t outside = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> box = values.subspan(row * channels, 4);
    if (box[2] < box[0] || box[3] < box[1]) ++misordered;
    const auto low = static_cast<double>(std::ranges::min(box));
    const auto high = static_cast<double>(std::ranges::max(box));
    if (low < -margin || high > 1.0 + margin) ++outside;
    numbers.lowest = std::min(numbers.lowest, low);
    numbers.highest = std::max(numbers.highest, high);
  }
  numbers.outside = static_cast<double>(outside) / static_cast<double>(rows);
  numbers.misordered = static_cast<double>(misordered) / static_cast<double>(rows);
  return numbers;
}

std::string no_pair(const Detector& detector, std::span<const TensorView> outputs) {
  const auto view = [&](const AnchorRows& rows) -> const TensorView& {
    return outputs[static_cast<std::size_t>(std::get<std::int64_t>(rows.outputs.front()))];
  };
  const bool corners = detector.form == BoxForm::kCorners;
  const BoxNumbers numbers = numbers_of(view(detector.boxes), corners ? kShareMargin : kRounding);
  if (numbers.outside > kMostOutside) {
    return to_text("found boxes with numbers from ", to_fixed(numbers.lowest, 2), " to ",
                   to_fixed(numbers.highest, 2), ", expected shares of the input, 0 to 1");
  }
  if (corners != (numbers.misordered <= kMostMisordered)) {
    return to_text("found ", percent(numbers.misordered, 1),
                   " of the boxes with corners in the wrong order, expected ",
                   corners ? "none" : "many, because centre and size follow each other");
  }
  if (!detector.class_softmax) return {};
  const std::span<const float> scores = view(detector.scores).values<float>();
  const auto [low, high] = std::ranges::minmax(scores);
  if (static_cast<double>(low) < -kRounding || static_cast<double>(high) > 1.0 + kRounding) {
    return {};
  }
  return to_text("found scores from ", to_fixed(static_cast<double>(low), 2), " to ",
                 to_fixed(static_cast<double>(high), 2), ", expected logits");
}

// Rows with low scores may be no boxes, and rows after the last box are filled up with zeros or a
// negative label. So the corners count from `least_score` on, and padding does not count.
std::string no_best_rows(const TensorView& view, double least_score) {
  const std::span<const float> values = view.values<float>();
  float before = 1.0F + static_cast<float>(kRounding);
  double boxes = 0.0;
  double misordered = 0.0;
  for (std::size_t at = 0; at < values.size(); at += 6) {
    const float score = values[at + 4];
    const float label = values[at + 5];
    if (score <= 0.0F) continue;
    if (static_cast<double>(score) >= least_score) {
      ++boxes;
      if (values[at + 2] < values[at] || values[at + 3] < values[at + 1]) ++misordered;
    }
    if (!(label >= 0.0F) || label != std::floor(label)) {
      return to_text("found the label ", label, ", expected a whole number from 0");
    }
    if (score > before) return "found scores that are not in descending order";
    before = score;
  }
  if (misordered <= kMostMisordered * boxes) return {};
  return to_text("found ", percent(misordered / boxes, 1),
                 " of the boxes with corners in the wrong order, expected none");
}

// Rows of YOLOv8, [N, rows, 4 + classes], read as those of YOLOv5: the first class is taken for the
// objectness. Where it is high, the others are low, because a row has one class.
std::string no_objectness(const Detector& detector, const TensorView& view) {
  if (detector.boxes.axis == ChannelAxis::kFirst || !detector.objectness) return {};
  const auto channels = static_cast<std::size_t>(view.shape[2]);
  if (channels == kYolov8CocoChannels) {
    return "found 84 numbers for a row, which are a box and 80 classes without an objectness, as "
           "yolov8 has in columns";
  }
  const std::span<const float> values = view.values<float>();
  std::int64_t objects = 0;
  std::int64_t without_class = 0;
  for (std::size_t at = 0; at < values.size(); at += channels) {
    const std::span<const float> row = values.subspan(at, channels);
    if (static_cast<double>(row[static_cast<std::size_t>(detector.objectness->channel)]) < 0.5) {
      continue;
    }
    ++objects;
    const std::span<const float> classes =
        row.subspan(static_cast<std::size_t>(detector.first_class_channel));
    if (static_cast<double>(std::ranges::max(classes)) < kLeastClass) ++without_class;
  }
  if (2 * without_class <= objects) return {};
  return to_text("found ", without_class, " of ", objects,
                 " objects without a class, expected none; rows of yolov8 that are not in columns "
                 "have no objectness");
}

}  // namespace

std::string misfit_by(DetectorSigns signs, const Detector& detector, const BoxSurvey& survey,
                      std::span<const TensorView> outputs) {
  switch (signs) {
    case DetectorSigns::kMap: {
      std::string misfit = no_class_sums(detector, outputs.front());
      return misfit.empty() ? off_cells(survey) : misfit;
    }
    case DetectorSigns::kCells: {
      std::string misfit = off_cells(survey);
      return misfit.empty() ? no_objectness(detector, outputs.front()) : misfit;
    }
    case DetectorSigns::kGrid:
    case DetectorSigns::kHeads:
      return off_cells(survey);
    case DetectorSigns::kPair:
    case DetectorSigns::kFacePair:
      return no_pair(detector, outputs);
    case DetectorSigns::kBestRows:
      return no_best_rows(outputs.front(), detector.thresholds.front());
  }
  return {};
}

}  // namespace qtool
