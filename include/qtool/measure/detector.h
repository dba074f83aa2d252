#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qtool {

inline constexpr std::int64_t kMaxDetectorOutputs = 64;
inline constexpr std::int64_t kMaxDetectorChannels = std::int64_t{1} << 20;

/// An object that a detector found.
struct Box {
  float left = 0.0F;  ///< pixels of the network's input, as are the other three
  float top = 0.0F;
  float right = 0.0F;
  float bottom = 0.0F;
  std::int64_t label = 0;  ///< class from 0; a background class is not counted
  float score = 0.0F;
  friend bool operator==(const Box&, const Box&) = default;
};

/// What the four numbers of a box are, in their order.
enum class BoxForm : std::uint8_t {
  kCentre,     ///< x and y of the centre, width, height
  kCorners,    ///< left, top, right, bottom
  kCornersYx,  ///< top, left, bottom, right
  kDistances,  ///< from the anchor to the left, to the top, to the right, to the bottom
};

/// In what the numbers are counted.
enum class BoxUnit : std::uint8_t {
  kPixels,  ///< of the network's input
  kShare,   ///< of the input's width or height
  kCells,   ///< of the grid: times the stride
};

/// What is applied to a number of the network first.
enum class BoxFunction : std::uint8_t { kNone, kSigmoid, kTanh, kExp };

/// Where the channels of a row lie in an output: [N, rows ..., C] or [N, C, rows ...].
enum class ChannelAxis : std::uint8_t { kLast, kFirst };

/// An output by its position from 0 or by its name.
using OutputChoice = std::variant<std::int64_t, std::string>;

/// One row per anchor, each with the same channels.
struct AnchorRows {
  std::vector<OutputChoice> outputs = {std::int64_t{0}};  ///< one after the other
  ChannelAxis axis = ChannelAxis::kLast;
};

/// How numbers of a box become pixels: value = function(number) * unit.
struct BoxScale {
  BoxFunction function = BoxFunction::kNone;
  BoxUnit unit = BoxUnit::kPixels;
};

/// A channel that says how surely a row holds any object.
struct Objectness {
  std::int64_t channel = 4;
  BoxFunction function = BoxFunction::kNone;
  double power = 1.0;
};

/// Rows for the cells of a grid over the input, row by row, `per_cell` rows for each cell.
struct GridLevel {
  std::int64_t stride = 8;  ///< pixels
  std::int64_t per_cell = 1;
};

/// How the outputs of a network become boxes: data, so that a new network needs no code.
/// A row's class is the one with the highest number (of equal ones the lowest class), its score
/// objectness(o)^power * classes(c)^power. Its box is centred at, or measured from, the anchor, if
/// there is a grid: ((x, y) of the cell + offset) * stride.
struct Detector {
  std::string name;

  AnchorRows boxes{};
  std::int64_t first_box_channel = 0;  ///< of four
  BoxForm form = BoxForm::kCentre;
  BoxScale position{};  ///< of the centre, the corners or the distances
  BoxScale size{};      ///< of width and height; kCentre only

  AnchorRows scores{};
  std::int64_t first_class_channel = 5;       ///< 1 behind a background class
  std::optional<std::int64_t> class_count{};  ///< none: all channels that follow
  BoxFunction class_function = BoxFunction::kNone;
  double class_power = 1.0;
  std::optional<Objectness> objectness{};  ///< in the rows of `scores`

  std::vector<GridLevel> grid{};  ///< in the order of the rows; empty: positions are absolute
  double grid_offset = 0.0;       ///< of the anchor in its cell, in cells

  std::vector<double> thresholds = {0.5};  ///< scores from which a box counts, ascending
  double nms_iou = 0.45;  ///< of two boxes of one class that overlap more, the lower is dropped
};

/// Throws Error(kUsage) naming the field whose value is outside its domain or contradicts another.
void check(const Detector& detector);

/// A named detector and one line about it.
struct DetectorInfo {
  std::string_view name;
  std::string_view summary;
};

/// Every named detector, sorted by name.
std::span<const DetectorInfo> detectors();
/// The detector of that name. Throws Error(kUsage) with the nearest names.
Detector find_detector(std::string_view name);

/// Reads a detector from JSON; docs/detectors.md has its fields, and what is left out keeps its
/// default. At most 64 KiB. Throws Error(kUsage) naming the field for an unknown one, for a value
/// outside its domain, and as check().
Detector detector_from_json(std::string_view text, std::string_view name);

/// How far the INT8 model's boxes are those of the FP32 model, over one or many images, for boxes
/// from one score on. An INT8 box matches the FP32 box of its class with the highest IoU, if that
/// reaches `iou` and no better INT8 box took it.
struct BoxMatch {
  double score = 0.0;
  double iou = 0.0;
  std::int64_t fp32 = 0;  ///< boxes of the FP32 model
  std::int64_t int8 = 0;  ///< boxes of the INT8 model
  std::int64_t kept = 0;  ///< pairs that match
  /// Mean over classes of the average precision of INT8's boxes, with FP32's as the truth: the area
  /// under precision over recall, with precision made monotonic. INT8 boxes below `score` take part
  /// too, down to kRankedScore. Nothing where FP32 finds no box.
  std::optional<double> mean_average_precision{};

  [[nodiscard]] std::int64_t added() const { return int8 - kept; }
};

struct BoxAgreement {
  std::string detector;
  double nms_iou = 0.0;
  std::int64_t images = 0;
  std::vector<BoxMatch> matches{};  ///< by ascending score, then IoU 0.5 and 0.7
};

}  // namespace qtool
