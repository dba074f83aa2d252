#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtool/tensor/tensor.h"

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

/// How the first output of a network becomes a class for each pixel.
struct MaskRule {
  /// Of an output with one channel: pixels from this value on are class 1, the others class 0.
  /// None: the class is the channel with the highest value, of equal ones the lowest channel.
  std::optional<double> threshold{};
};

/// The class of each pixel of one image.
struct Mask {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::int32_t> labels;  ///< row by row; -1 where the network says no number
};

/// The pixels of one class, over all images.
struct ClassPixels {
  std::int64_t label = 0;
  std::int64_t fp32 = 0;
  std::int64_t int8 = 0;
  std::int64_t both = 0;

  /// Intersection over union of the two models' pixels.
  [[nodiscard]] double iou() const;
};

/// How far the INT8 model's classes of pixels are those of the FP32 model.
struct MaskAgreement {
  std::int64_t images = 0;
  std::int64_t pixels = 0;
  std::int64_t equal = 0;            ///< pixels of the same class
  std::vector<ClassPixels> classes;  ///< that a model found in any image, ascending

  /// Mean over `classes`; nothing where there is none.
  [[nodiscard]] std::optional<double> mean_iou() const;
};

/// Answers of which both models' are the same.
struct EqualAnswers {
  std::int64_t all = 0;
  std::int64_t equal = 0;
};

/// What the outputs of a network mean, where they are more than one score per class.
struct AnswerOptions {
  std::optional<Detector> boxes{};
  std::optional<MaskRule> mask{};
  /// Each number of the first output is a decision: yes above this value, else no.
  std::optional<double> decision{};
  /// The first output scores classes, on its last axis, step by step, as networks trained with CTC
  /// do: the text is the best class of each step, repeats merged, without this class. Source:
  /// Graves et al. 2006, section 3.2 (best path decoding).
  std::optional<std::int64_t> text_blank{};
  /// The outputs are images whose values reach up to this: see OutputError::psnr_db.
  std::optional<double> psnr_peak{};
};

/// What one model says of one image, as far as AnswerOptions ask for it.
struct Answer {
  std::vector<Box> boxes;  ///< best first
  std::optional<Mask> mask;
  std::vector<bool> decisions;
  std::vector<std::int64_t> text;
};

/// A box of each model that match with IoU 0.5 or more, or a box of one model alone.
struct BoxPair {
  std::optional<std::int64_t> fp32;  ///< index among the FP32 model's boxes
  std::optional<std::int64_t> int8;  ///< index among the INT8 model's boxes
  double iou = 0.0;                  ///< 0 for a box alone
};

/// How far the INT8 model's answers are those of the FP32 model, as far as AnswerOptions ask.
struct AnswerAgreement {
  std::optional<BoxAgreement> boxes;
  std::optional<MaskAgreement> mask;
  std::optional<EqualAnswers> decisions;  ///< of all numbers of all samples
  std::optional<EqualAnswers> texts;      ///< of samples
};

/// Distance of the INT8 model's output from the FP32 model's, over one or many images. Images
/// without an answer of both models (see has_answer()) are left out. x is the FP32 model's output,
/// y the INT8 model's.
struct OutputError {
  std::string name;
  double cosine = 1.0;          ///< mean over images
  double sqnr_db = 0.0;         ///< mean over images of each one's, see sqnr_db()
  double pooled_sqnr_db = 0.0;  ///< 10 log10(sum of all x^2 / sum of all (x - y)^2)
  double lowest_sqnr_db = 0.0;  ///< of the worst image
  std::filesystem::path
      lowest_sqnr_image{};     ///< that image, the first of equal ones; evaluate() only
  double max_abs_error = 0.0;  ///< of the worst image
  /// Mean over images of 10 log10(peak^2 / mean (x - y)^2), where AnswerOptions name the peak.
  std::optional<double> psnr_db{};
  /// Of the output. Integers are positions or classes more often than amounts, of which an SQNR
  /// says little.
  DType dtype = DType::kFloat32;
};

}  // namespace qtool
