#include "answers/detector_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "answers/detector_fit.h"
#include "answers/unnamed_boxes.h"
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
constexpr std::int64_t kLeastDoubtfulRows = 200;  // fewer may be the steps of a text

/// The strides of the grids that one network of the YOLO family has.
constexpr std::array<std::array<std::int64_t, 4>, 4> kStrides = {
    {{8, 16, 32, 0}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32, 0, 0}}};

/// The grids of UltraFace.
struct FaceGrid {
  std::int64_t stride = 0;
  std::int64_t per_cell = 0;
};
constexpr std::array kFaceGrids = {FaceGrid{8, 3}, FaceGrid{16, 2}, FaceGrid{32, 2},
                                   FaceGrid{64, 3}};

struct Extents {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

std::int64_t cells_of(std::int64_t stride, const Extents& input) {
  return ceil_div(input.width, stride) * ceil_div(input.height, stride);
}

std::int64_t face_rows(const Extents& input) {
  std::int64_t rows = 0;
  for (const FaceGrid& grid : kFaceGrids) rows += cells_of(grid.stride, input) * grid.per_cell;
  return rows;
}

std::int64_t rows_of(const Detector& detector, const Shape& boxes) {
  return boxes[detector.boxes.axis == ChannelAxis::kFirst ? 2 : 1];
}

bool are_rows_of_cells(std::int64_t rows, const Extents& input) {
  return std::ranges::any_of(kStrides, [&](const auto& strides) {
    std::int64_t cells = 0;
    for (const std::int64_t stride : strides) {
      if (stride > 0) cells += cells_of(stride, input);
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
    case DetectorSigns::kGrid:
      return are_rows(detector.boxes) && are_rows(detector.scores);
    case DetectorSigns::kCells:
      return first.rank() == 3 && are_rows_of_cells(rows_of(detector, first), input);
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
    case DetectorSigns::kFacePair:
      return outputs.size() == 2 && are_rows(detector.boxes) && are_rows(detector.scores) &&
             first[2] == 4 && first[1] == face_rows(input) &&
             output_at(outputs, detector.scores.outputs.front()).shape[2] == 2;
    case DetectorSigns::kBestRows:
      return outputs.size() == 1 && first.rank() == 3 && first[2] == 6 && first[1] <= kMostBestRows;
  }
  return false;
}

// Whether two outputs both have four channels, so that shapes do not tell which holds the boxes.
bool have_equal_channels(std::span<const PortInfo> outputs) {
  return outputs.size() == 2 && outputs[0].shape == outputs[1].shape;
}

// Whether a detector whose numbers do not fit is worth a word. Other networks often have the shapes
// of the rest: one map of a stride, several maps, or the rows of the steps of a text.
bool is_doubt(DetectorSigns signs, const BoxDecoder& decoder, std::span<const PortInfo> outputs,
              bool are_heads) {
  switch (signs) {
    case DetectorSigns::kMap:
      return false;
    case DetectorSigns::kHeads:
      return are_heads;
    case DetectorSigns::kCells: {
      const Detector& detector = decoder.detector();
      return rows_of(detector, output_at(outputs, detector.boxes.outputs.front()).shape) >=
             kLeastDoubtfulRows;
    }
    case DetectorSigns::kGrid:
    case DetectorSigns::kPair:
    case DetectorSigns::kFacePair:
    case DetectorSigns::kBestRows:
      return true;
  }
  return true;
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
  are_maps_ =
      std::ranges::all_of(outputs, [](const PortInfo& port) { return port.shape.rank() > 3; });
  unnamed_ = unnamed_boxes(outputs, extents.width, extents.height);
  for (const Family& family : kFamilies) {
    Detector detector = find_detector(family.name);
    try {
      BoxDecoder decoder(detector, outputs, input, channels);
      if (!has_shapes(family.signs, decoder.detector(), outputs, extents)) continue;
      const bool said = is_doubt(family.signs, decoder, outputs, !unnamed_.empty());
      candidates_.push_back({std::move(decoder), family.signs, said});
      if (!detector.either_order || !have_equal_channels(outputs)) continue;
      std::swap(detector.boxes.outputs, detector.scores.outputs);
      candidates_.push_back(
          {BoxDecoder(std::move(detector), outputs, input, channels), family.signs, false, true});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMismatch) throw;  // the shapes are those of another family
    }
  }
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
  const auto keep_only = [&](const auto& is_kept) {
    if (std::ranges::count_if(fit, is_kept) != 1) return;
    std::erase_if(fit, [&](const Candidate* candidate) { return !is_kept(candidate); });
  };
  keep_only(
      [](const Candidate* candidate) { return candidate->signs == DetectorSigns::kFacePair; });
  keep_only([](const Candidate* candidate) { return candidate->boxes > 0; });
  if (fit.size() == 1 && !fit.front()->exchanged) {
    found.detector = find_detector(fit.front()->decoder.detector().name);
    return found;
  }
  const auto doubt = [&](const auto&... words) {
    found.doubt += to_text(found.doubt.empty() ? "" : "; ", words...);
  };
  for (const Candidate& candidate : candidates_) {
    const std::string& name = candidate.decoder.detector().name;
    if (fit.empty()) {
      if (candidate.is_doubt && images_ > 0) doubt(name, ": ", candidate.misfit);
    } else if (std::ranges::find(fit, &candidate) == fit.end()) {
      continue;
    } else if (candidate.exchanged) {
      doubt(name,
            " fits if the boxes are output 0 and the scores output 1, which its name does "
            "not say because both have four channels; a JSON file does");
    } else {
      doubt(name, " fits");
    }
  }
  if (fit.empty() && !unnamed_.empty() && (are_maps_ || found.doubt.empty())) doubt(unnamed_);
  return found;
}

}  // namespace qtool
