#pragma once

#include <cstddef>
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

/// The interval that holds a figure with 95 % confidence, for other samples of the same kind. It
/// says nothing about samples of another kind.
struct Interval {
  double low = 0.0;
  double high = 0.0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// An object that a detector found.
struct Box {
  float left = 0.0F;  ///< all four: pixels of the network's input
  float top = 0.0F;
  float right = 0.0F;
  float bottom = 0.0F;
  std::int64_t label = 0;  ///< class from 0; a background class is not counted
  float score = 0.0F;
  friend bool operator==(const Box&, const Box&) = default;
};

/// The meaning of the four numbers of a box, in their order.
enum class BoxForm : std::uint8_t {
  kCentre,     ///< x and y of the centre, width, height
  kCorners,    ///< left, top, right, bottom
  kCornersYx,  ///< top, left, bottom, right
  kDistances,  ///< from the anchor to the left, to the top, to the right, to the bottom
};

/// The unit of the numbers of a box.
enum class BoxUnit : std::uint8_t {
  kPixels,  ///< pixels of the network's input
  kShare,   ///< share of the input's width or height
  kCells,   ///< cells of the grid: times the stride
};

/// The function that is applied to a number of the network before its unit.
enum class BoxFunction : std::uint8_t { kNone, kSigmoid, kTanh, kExp };

/// Where the channels of a row lie in an output: [N, rows ..., C] or [N, C, rows ...].
enum class ChannelAxis : std::uint8_t { kLast, kFirst };

/// An output, given by its position (from 0) or by its name.
using OutputChoice = std::variant<std::int64_t, std::string>;

/// Outputs with one row per anchor. All rows have the same channels.
struct AnchorRows {
  std::vector<OutputChoice> outputs = {std::int64_t{0}};  ///< in the order of their rows
  ChannelAxis axis = ChannelAxis::kLast;
};

/// How numbers of a box become pixels: value = function(number) * unit.
struct BoxScale {
  BoxFunction function = BoxFunction::kNone;
  BoxUnit unit = BoxUnit::kPixels;
};

/// The channel with the confidence that a row holds any object.
struct Objectness {
  std::int64_t channel = 4;
  BoxFunction function = BoxFunction::kNone;
  double power = 1.0;
};

/// The rows that belong to one grid over the input. The cells are ordered line by line; each cell
/// has `per_cell` rows.
struct GridLevel {
  std::int64_t stride = 8;  ///< pixels
  std::int64_t per_cell = 1;
};

/// How the outputs of a network become boxes. This is data, so a new network needs no new code. The
/// class of a row is the one with the highest number; the lowest class wins a tie. Its score is
/// objectness(o)^power * classes(c)^power. With a grid, the centre, the corners or the distances
/// are measured from the anchor of the row: ((x, y) of the cell + offset) * stride.
struct Detector {
  std::string name;

  /// Boxes and scores have one output each, whose order is open: the boxes are in the only one of
  /// the two that has four channels.
  bool either_order = false;
  AnchorRows boxes{};
  std::int64_t first_box_channel = 0;  ///< the first of four channels
  BoxForm form = BoxForm::kCentre;
  BoxScale position{};  ///< for the centre, the corners or the distances
  BoxScale size{};      ///< for width and height; kCentre only

  AnchorRows scores{};
  std::int64_t first_class_channel = 5;       ///< 1 where channel 0 is a background class
  std::optional<std::int64_t> class_count{};  ///< nullopt: all from the first class channel on
  bool background_last = false;               ///< the last channel is a background class
  BoxFunction class_function = BoxFunction::kNone;
  bool class_softmax = false;  ///< the numbers of a row pass softmax over all channels of `scores`
  double class_power = 1.0;
  /// The channel that holds the class as a number. The score of a row is then the number in
  /// `first_class_channel`.
  std::optional<std::int64_t> label_channel{};
  std::optional<Objectness> objectness{};  ///< a channel of the rows of `scores`

  std::vector<GridLevel> grid{};  ///< in the order of the rows; empty: positions are absolute
  double grid_offset = 0.0;       ///< position of the anchor in its cell, in cells

  std::vector<double> thresholds = {0.5};  ///< a box counts from such a score on; ascending
  double nms_iou = 0.45;  ///< a box is dropped above this IoU with a better box of its class
};

/// Throws Error(kUsage) naming the field whose value is outside its domain or contradicts another.
void check(const Detector& detector);

/// A named detector and one line about it.
struct DetectorInfo {
  std::string_view name;
  std::string_view summary;
  /// The options of a command line that prepare images as the authors of the family do, separated
  /// by blanks; empty where networks of the family differ.
  std::string_view preprocessing{};
};

/// Every named detector, sorted by name.
std::span<const DetectorInfo> detectors();
/// The detector called `name`. Throws Error(kUsage), with the nearest names, when there is none.
Detector find_detector(std::string_view name);

/// Reads a detector from JSON; docs/detectors.md lists the fields. A field that is left out keeps
/// its default. At most 64 KiB. Throws Error(kUsage), which names the field, for an unknown field
/// or a value outside its domain, and as check() does.
Detector detector_from_json(std::string_view text, std::string_view name);

/// The family of detectors to which the outputs of a network belong, see recognise_detector().
struct RecognisedDetector {
  std::optional<Detector> detector{};
  std::int64_t images = 0;  ///< number of images whose outputs were looked at
  /// Without a detector: why the outputs, which look like those of one, have no name. Empty where
  /// they do not look like those of a detector.
  std::string doubt{};
};

/// How well the boxes of the INT8 model agree with the boxes of the FP32 model, over one or many
/// images. Boxes with a score of at least `score` are counted. An INT8 box matches the FP32 box of
/// its class with the highest IoU, among the FP32 boxes that no better INT8 box took. The IoU must
/// reach `iou`.
struct BoxMatch {
  double score = 0.0;
  double iou = 0.0;
  std::int64_t fp32 = 0;  ///< boxes of the FP32 model
  std::int64_t int8 = 0;  ///< boxes of the INT8 model
  std::int64_t kept = 0;  ///< pairs that match
  /// The mean over classes of the average precision of the INT8 boxes, with the FP32 boxes as the
  /// truth. The average precision is the area under the curve of precision over recall, with
  /// precision made monotonic. INT8 boxes below `score` are included too, down to kRankedScore.
  /// nullopt where FP32 finds no box.
  std::optional<double> mean_average_precision{};
  /// Of kept / fp32 and of added() / fp32, for six images or more, see bootstrap_interval(). The
  /// wider of two intervals: the bootstrap over images, because the boxes of an image are not
  /// independent, and Wilson's over boxes, because without a mistake the bootstrap has no width.
  std::optional<Interval> kept_interval{};
  std::optional<Interval> added_interval{};

  [[nodiscard]] std::int64_t added() const { return int8 - kept; }
};

struct BoxAgreement {
  std::string detector;
  double nms_iou = 0.0;
  std::int64_t images = 0;
  std::vector<BoxMatch> matches{};  ///< sorted by score, then by IoU (0.5, 0.7)

  /// The index of the entry of `matches` by which a model is judged: that for the lowest score at
  /// the highest IoU. nullopt without entries.
  [[nodiscard]] std::optional<std::size_t> judged() const;
};

/// How the first output of a network becomes a class for each pixel.
struct MaskRule {
  /// For an output with one channel: a pixel with this value or more is class 1, any other pixel
  /// class 0. nullopt: the class is the channel with the highest value; the lowest channel wins a
  /// tie.
  std::optional<double> threshold{};
};

/// The class of each pixel of one image.
struct Mask {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::int32_t> labels;  ///< row by row; -1 where the output is NaN
};

/// The numbers of pixels of one class, over all images.
struct ClassPixels {
  std::int64_t label = 0;
  std::int64_t fp32 = 0;
  std::int64_t int8 = 0;
  std::int64_t both = 0;

  /// Intersection over union of the two models' pixels.
  [[nodiscard]] double iou() const;
};

/// How well the pixel classes of the INT8 model agree with those of the FP32 model.
struct MaskAgreement {
  std::int64_t images = 0;
  std::int64_t pixels = 0;
  std::int64_t equal = 0;            ///< pixels with the same class in both models
  std::vector<ClassPixels> classes;  ///< classes that a model found in any image, ascending
  /// Of equal / pixels, for six images or more: the wider of two intervals, as those of BoxMatch,
  /// with pixels for boxes.
  std::optional<Interval> equal_interval{};
  /// Of mean_iou(), likewise: bootstrap over images.
  std::optional<Interval> mean_iou_interval{};
  /// Whether mean_iou_interval is left out because the pixels of each class in each image would
  /// need too much memory: there are more than two million such counts.
  bool too_many_counts = false;

  /// The mean IoU over `classes`; nullopt when there are none.
  [[nodiscard]] std::optional<double> mean_iou() const;
};

/// The number of answers, and how many of them are equal in both models.
struct EqualAnswers {
  std::int64_t all = 0;
  std::int64_t equal = 0;
};

/// How well the texts of the INT8 model agree with those of the FP32 model, one text per sample.
struct TextAgreement {
  std::int64_t all = 0;
  std::int64_t equal = 0;
  std::int64_t characters = 0;               ///< of the FP32 model's texts
  std::int64_t edits = 0;                    ///< the sum of the edit distances
  std::optional<Interval> equal_interval{};  ///< Wilson's, of equal / all; evaluate() only
};

/// The meaning of the outputs of a network that are not simply one score per class.
struct AnswerOptions {
  std::optional<Detector> boxes{};
  std::optional<MaskRule> mask{};
  /// Each number of the first output is a decision: yes above this value, else no.
  std::optional<double> decision{};
  /// The index of the blank class of a network that was trained with CTC. For each step, the first
  /// output holds the scores of the classes on its last axis. The text is the best class of each
  /// step, with repeats merged and this class removed. Source: Graves et al. 2006, section 3.2
  /// (best path decoding).
  std::optional<std::int64_t> text_blank{};
  /// For `text_blank`: the character of each class, with something for the blank too. Empty: they
  /// are not known. The last one may be missing in the network: sets with and without a space at
  /// the end are common.
  std::vector<std::string> characters{};
  /// The highest value of a pixel, if the outputs are images: see OutputError::psnr_db.
  std::optional<double> psnr_peak{};
};

/// The answer of one model for one image. Only the parts that AnswerOptions ask for are filled.
struct Answer {
  std::vector<Box> boxes;  ///< best first
  std::optional<Mask> mask;
  std::vector<bool> decisions;
  std::vector<std::int64_t> text;
};

/// Two boxes, one of each model, that match with an IoU of 0.5 or more; or a box of one model that
/// has no match.
struct BoxPair {
  std::optional<std::int64_t> fp32;  ///< index among the FP32 model's boxes
  std::optional<std::int64_t> int8;  ///< index among the INT8 model's boxes
  double iou = 0.0;                  ///< 0 for a box without a match
};

/// How well the answers of the INT8 model agree with those of the FP32 model. Only the parts that
/// AnswerOptions ask for are filled.
struct AnswerAgreement {
  std::optional<BoxAgreement> boxes;
  std::optional<MaskAgreement> mask;
  std::optional<EqualAnswers> decisions;  ///< over all numbers of all samples
  std::optional<TextAgreement> texts;

  /// The entry of BoxAgreement::matches by which a model is judged, see BoxAgreement::judged().
  /// nullopt without boxes.
  [[nodiscard]] std::optional<BoxMatch> judged_boxes() const;
};

/// Distance of the INT8 model's output from the FP32 model's, over one or many images. An image is
/// left out unless both models answer it (see has_answer()). x is the FP32 model's output, y the
/// INT8 model's.
struct OutputError {
  std::string name;
  double cosine = 1.0;          ///< mean over images
  double sqnr_db = 0.0;         ///< mean over images of sqnr_db()
  double pooled_sqnr_db = 0.0;  ///< 10 log10(sum of all x^2 / sum of all (x - y)^2)
  double lowest_sqnr_db = 0.0;  ///< SQNR of the worst image
  std::filesystem::path
      lowest_sqnr_image{};     ///< the worst image, or the first of several; evaluate() only
  double max_abs_error = 0.0;  ///< largest error of any image
  /// The mean over images of 10 log10(peak^2 / mean (x - y)^2); nullopt unless AnswerOptions name
  /// the peak.
  std::optional<double> psnr_db{};
  /// The element type of the output. Integers are more often positions or classes than amounts, and
  /// an SQNR says little about positions and classes.
  DType dtype = DType::kFloat32;
  std::optional<Interval> sqnr_interval{};  ///< of sqnr_db: bootstrap over images; evaluate() only
  std::optional<Interval> pooled_interval{};  ///< of pooled_sqnr_db, likewise
};

}  // namespace qtool
