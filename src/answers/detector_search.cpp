#include "answers/detector_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "answers/detector_fit.h"
#include "base/percent.h"
#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

struct Family {
  std::string_view name;
  DetectorSigns signs;
};

constexpr std::array kFamilies = {
#define QTOOL_DETECTOR(name, summary, signs, preprocessing) Family{#name, DetectorSigns::signs},
#include "answers/detectors/detectors.inc"
#undef QTOOL_DETECTOR
};

constexpr std::int64_t kMostBestRows = 1000;
constexpr std::int64_t kMostRowsPerCell = 3;
constexpr std::int64_t kLeastHeadStride = 8;
constexpr double kMargin = 0.25;      // of the input: some centres lie a little outside
constexpr double kMostOutside = 0.1;  // of the rows
constexpr double kCellSpread = 0.3;   // of the input
constexpr double kMostMisordered = 0.05;
constexpr double kShareMargin = 0.5;  // corners of large objects lie outside the input
constexpr double kRounding = 0.01;

/// The strides of the grids that one network of the YOLO family has.
constexpr std::array<std::array<std::int64_t, 4>, 4> kStrides = {
    {{8, 16, 32, 0}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32, 0, 0}}};

struct Extents {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

bool are_rows_of_cells(std::int64_t rows, const Extents& input) {
  return std::ranges::any_of(kStrides, [&](const auto& strides) {
    std::int64_t cells = 0;
    for (const std::int64_t stride : strides) {
      if (stride > 0) cells += ceil_div(input.width, stride) * ceil_div(input.height, stride);
    }
    return rows % cells == 0 && rows / cells <= kMostRowsPerCell;
  });
}

const PortInfo& output_at(std::span<const PortInfo> outputs, const OutputChoice& choice) {
  return outputs[static_cast<std::size_t>(std::get<std::int64_t>(choice))];
}

bool is_map_of(const Shape& shape, std::int64_t stride, const Extents& input) {
  return shape.rank() == 4 && shape[2] == ceil_div(input.height, stride) &&
         shape[3] == ceil_div(input.width, stride);
}

// Whether outputs that a decoder accepts also have the shapes of the family.
bool has_shapes(DetectorSigns signs, const Detector& detector, std::span<const PortInfo> outputs,
                const Extents& input) {
  const Shape& first = output_at(outputs, detector.boxes.outputs.front()).shape;
  const auto are_rows = [&](const AnchorRows& rows) {
    return std::ranges::all_of(rows.outputs, [&](const OutputChoice& choice) {
      return output_at(outputs, choice).shape.rank() == 3;
    });
  };
  switch (signs) {
    case DetectorSigns::kNone:
      return false;
    case DetectorSigns::kGrid:
      return are_rows(detector.boxes) && are_rows(detector.scores);
    case DetectorSigns::kCells:
      return first.rank() == 3 &&
             are_rows_of_cells(first[detector.boxes.axis == ChannelAxis::kFirst ? 2 : 1], input);
    case DetectorSigns::kMap:
      return outputs.size() == 1 && is_map_of(first, detector.grid.front().stride, input);
    case DetectorSigns::kHeads:
      for (std::size_t i = 0; i < detector.grid.size(); ++i) {
        const Shape& map = output_at(outputs, detector.boxes.outputs.at(i)).shape;
        if (!is_map_of(map, detector.grid[i].stride, input)) return false;
      }
      return true;
    case DetectorSigns::kPair:
      return outputs.size() == 2 && are_rows(detector.boxes) && are_rows(detector.scores) &&
             first[2] == 4;
    case DetectorSigns::kBestRows:
      return outputs.size() == 1 && first.rank() == 3 && first[2] == 6 && first[1] <= kMostBestRows;
  }
  return false;
}

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

// The classes of a cell, and its objectness, are probabilities: softmax has been applied to them.
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

std::string no_best_rows(const TensorView& view) {
  if (numbers_of(view, 0.0).misordered > 0.0) {
    return "found boxes with corners in the wrong order, expected none";
  }
  const std::span<const float> values = view.values<float>();
  float before = 1.0F + static_cast<float>(kRounding);
  for (std::size_t at = 0; at < values.size(); at += 6) {
    const float score = values[at + 4];
    const float label = values[at + 5];
    if (!(label >= 0.0F) || label != std::floor(label)) {
      return to_text("found the label ", label, ", expected a whole number from 0");
    }
    if (score > before) return "found scores that are not in descending order";
    before = score;
  }
  return {};
}

// What is wrong with the numbers of one image beside what misfit_of() finds; empty: nothing.
std::string misfit_by(DetectorSigns signs, const Detector& detector, const BoxSurvey& survey,
                      std::span<const TensorView> outputs) {
  switch (signs) {
    case DetectorSigns::kNone:
      return {};
    case DetectorSigns::kMap: {
      std::string misfit = no_class_sums(detector, outputs.front());
      return misfit.empty() ? off_cells(survey) : misfit;
    }
    case DetectorSigns::kGrid:
    case DetectorSigns::kCells:
    case DetectorSigns::kHeads:
      return off_cells(survey);
    case DetectorSigns::kPair:
      return no_pair(detector, outputs);
    case DetectorSigns::kBestRows:
      return no_best_rows(outputs.front());
  }
  return {};
}

// What the outputs are if they are maps of several strides, which are usual for heads that the
// network does not join; empty if they are not.
std::string heads_text(std::span<const PortInfo> outputs, const Extents& input) {
  std::string strides;
  std::string shapes;
  std::int64_t before = 0;
  for (const PortInfo& output : outputs) {
    const Shape& shape = output.shape;
    if (shape.rank() < 4 || shape.rank() > 5) return {};
    // [N, C, H, W], or [N, anchors, H, W, C].
    const std::int64_t height = shape[2];
    const std::int64_t width = shape[3];
    if (height < 2 || width < 2) return {};
    const std::int64_t stride = ceil_div(input.height, height);
    if (stride < kLeastHeadStride || stride == before || ceil_div(input.width, width) != stride) {
      return {};
    }
    before = stride;
    strides += to_text(strides.empty() ? "" : ", ", stride);
    shapes += to_text(shapes.empty() ? "" : ", ", shape.to_string());
  }
  if (outputs.size() < 2) return {};
  return to_text("the outputs ", shapes, " are maps of strides ", strides,
                 ", which may be the heads of a detector; what is missing are boxes: the network "
                 "does not join and decode them, and anchors with sizes of their own, or distances "
                 "as distributions, are not in the file. Export the network with decoded boxes, or "
                 "describe other heads in a JSON file");
}

}  // namespace

DetectorSearch::DetectorSearch(std::span<const PortInfo> outputs, const Shape& input,
                               ChannelAxis channels) {
  const bool first = channels == ChannelAxis::kFirst;
  if (input.rank() != 4) return;
  const std::int64_t colours = input[first ? 1 : 3];
  if (colours != 1 && colours != 3 && colours != 4) return;
  const auto is_float = [](const PortInfo& port) { return port.dtype == DType::kFloat32; };
  if (!std::ranges::all_of(outputs, is_float)) return;
  const Extents extents{input[first ? 3 : 2], input[first ? 2 : 1]};
  for (const Family& family : kFamilies) {
    if (family.signs == DetectorSigns::kNone) continue;
    try {
      BoxDecoder decoder(find_detector(family.name), outputs, input, channels);
      if (!has_shapes(family.signs, decoder.detector(), outputs, extents)) continue;
      candidates_.push_back({std::move(decoder), family.signs});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMismatch) throw;  // the shapes are those of another family
    }
  }
  heads_ = heads_text(outputs, extents);
}

void DetectorSearch::add(std::span<const TensorView> outputs) {
  ++images_;
  for (Candidate& candidate : candidates_) {
    if (!candidate.misfit.empty()) continue;
    const Detector& detector = candidate.decoder.detector();
    const BoxSurvey survey = candidate.decoder.survey(outputs, 0);
    if (!survey.is_finite) {
      candidate.misfit = "found numbers that are not finite";
    } else if (std::optional<std::string> misfit = misfit_of(detector, survey)) {
      candidate.misfit = *std::move(misfit);
    } else {
      candidate.misfit = misfit_by(candidate.signs, detector, survey, outputs);
    }
    if (!candidate.misfit.empty()) continue;
    const std::vector<Box> boxes = candidate.decoder.read(outputs);
    candidate.boxes += std::ranges::count_if(boxes, [&](const Box& box) {
      return static_cast<double>(box.score) >= detector.thresholds.front();
    });
  }
}

RecognisedDetector DetectorSearch::result() const {
  RecognisedDetector found;
  found.images = images_;
  std::vector<const Candidate*> fit;
  for (const Candidate& candidate : candidates_) {
    if (images_ > 0 && candidate.misfit.empty()) fit.push_back(&candidate);
  }
  if (fit.size() > 1) {
    const auto finds = [](const Candidate* candidate) { return candidate->boxes > 0; };
    if (std::ranges::count_if(fit, finds) == 1) {
      std::erase_if(fit, [&](const Candidate* candidate) { return !finds(candidate); });
    }
  }
  if (fit.size() == 1) {
    found.detector = find_detector(fit.front()->decoder.detector().name);
    return found;
  }
  for (const Candidate& candidate : candidates_) {
    const std::string& name = candidate.decoder.detector().name;
    const std::string separator = found.doubt.empty() ? "" : "; ";
    if (fit.empty()) {
      found.doubt += to_text(separator, name, ": ", candidate.misfit);
    } else if (candidate.misfit.empty()) {
      found.doubt += to_text(separator, name, " fits");
    }
  }
  if (fit.empty() && !heads_.empty()) {
    found.doubt += to_text(found.doubt.empty() ? "" : "; ", heads_);
  }
  return found;
}

}  // namespace qtool
