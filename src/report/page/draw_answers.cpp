#include "report/page/draw_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "image/draw.h"
#include "report/answers.h"

namespace qtool {
namespace {

constexpr Colour kPaper = {24, 26, 30};
constexpr Colour kInk = {235, 235, 235};
constexpr Colour kDark = {16, 16, 16};
constexpr Colour kShared = {60, 210, 110};
constexpr Colour kAlone = {255, 130, 40};
constexpr std::int64_t kGap = 8;
constexpr std::int64_t kSmallGap = 4;
constexpr std::int64_t kTextSize = 2;
constexpr std::int64_t kLine = kTextSize * kTextHeight;
constexpr std::int64_t kShortest = 480;  // pixels of a panel's longer side
constexpr std::int64_t kLongest = 960;
constexpr std::size_t kMaxDrawnRows = 20;

// Distinct colours for classes: the hues of successive classes are a golden ratio of the colour
// circle apart.
Colour colour_of(std::int32_t label) {
  const double hue = std::fmod(static_cast<double>(label) * 0.61803398875, 1.0) * 6.0;
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const double distance =
        std::abs(std::fmod(hue + 6.0 - 2.0 * static_cast<double>(c), 6.0) - 3.0);
    colour[c] = static_cast<std::uint8_t>(255.0 * std::clamp(distance - 1.0, 0.0, 1.0));
  }
  return colour;
}

/// One model's half of the drawing: the resized image and the answers drawn on it.
class Panel {
 public:
  Panel(Image image, const InputPlacement& placement, double zoom_x, double zoom_y)
      : image_(std::move(image)), placement_(placement), zoom_x_(zoom_x), zoom_y_(zoom_y) {}

  void draw(const Mask& mask) {
    // Each pixel of the panel takes the class of the mask's pixel in which it lies.
    for (std::int64_t y = 0; y < image_.height; ++y) {
      const std::int64_t row = cell((static_cast<double>(y) + 0.5) / zoom_y_ / placement_.y_scale,
                                    placement_.y_offset, placement_.input_height, mask.height);
      for (std::int64_t x = 0; x < image_.width && row >= 0; ++x) {
        const std::int64_t column =
            cell((static_cast<double>(x) + 0.5) / zoom_x_ / placement_.x_scale, placement_.x_offset,
                 placement_.input_width, mask.width);
        if (column < 0) continue;
        const std::int32_t label = mask.labels[static_cast<std::size_t>(row * mask.width + column)];
        if (label > 0) fill(image_, x, y, x + 1, y + 1, colour_of(label), 128);
      }
    }
  }

  void draw(const Box& box, Colour colour, std::int64_t thickness) {
    outline(image_, x_of(box.left), y_of(box.top), x_of(box.right), y_of(box.bottom), thickness,
            colour);
  }

  /// Writes the caption of a box above it or, if that place is not free, inside or below it.
  void write(const Box& box, Colour colour, const std::string& caption) {
    const std::int64_t width = text_width(caption, kTextSize) + 4;
    const std::int64_t left = std::clamp<std::int64_t>(
        x_of(box.left), 0, std::max<std::int64_t>(image_.width - width, 0));
    const std::int64_t top = free_top(box, left, left + width);
    captions_.push_back({left, left + width, top});
    fill(image_, left, top, left + width, top + kLine, colour);
    draw_text(image_, left + 2, top + 3, caption, kTextSize, kDark);
  }

  [[nodiscard]] const Image& image() const { return image_; }

 private:
  /// The place of a caption.
  struct Caption {
    std::int64_t left;
    std::int64_t right;
    std::int64_t top;
  };

  // The top of a caption from `left` to `right` that covers no other caption. This is the first
  // free one of the usual places, or else the first free place below. If there is no free place, it
  // is the first usual place.
  [[nodiscard]] std::int64_t free_top(const Box& box, std::int64_t left, std::int64_t right) const {
    const std::int64_t lowest = std::max<std::int64_t>(image_.height - kLine, 0);
    const std::int64_t top = y_of(box.top);
    const std::int64_t bottom = y_of(box.bottom);
    std::vector<std::int64_t> places = {top - kLine, top, bottom, bottom - kLine};
    std::erase_if(places, [&](std::int64_t place) { return place < 0 || place > lowest; });
    if (places.empty()) places.push_back(std::clamp<std::int64_t>(top, 0, lowest));
    const auto is_free = [&](std::int64_t place) {
      return std::none_of(captions_.begin(), captions_.end(), [&](const Caption& other) {
        return place < other.top + kLine && other.top < place + kLine && left < other.right &&
               other.left < right;
      });
    };
    const std::int64_t first = places.front();
    for (std::int64_t place = first; place <= lowest; place += kLine) places.push_back(place);
    const auto found = std::find_if(places.begin(), places.end(), is_free);
    return found == places.end() ? first : *found;
  }

  // The index of the pixel, along one axis, in a mask of `cells` pixels that covers the network's
  // input; -1 outside the input.
  static std::int64_t cell(double resized, std::int64_t offset, std::int64_t input,
                           std::int64_t cells) {
    const double share = (resized - static_cast<double>(offset)) / static_cast<double>(input);
    if (!(share >= 0.0 && share < 1.0)) return -1;
    return std::min(static_cast<std::int64_t>(share * static_cast<double>(cells)), cells - 1);
  }
  // Corners are finite and at most kFarthestCorner, so rounding cannot overflow.
  [[nodiscard]] std::int64_t x_of(float x) const {
    return std::llround(placement_.image_x(x) * zoom_x_);
  }
  [[nodiscard]] std::int64_t y_of(float y) const {
    return std::llround(placement_.image_y(y) * zoom_y_);
  }

  Image image_;
  InputPlacement placement_;
  double zoom_x_;
  double zoom_y_;
  std::vector<Caption> captions_;
};

// Shortens a line at its end until it is at most `width` pixels wide.
std::string fitted(std::string line, std::int64_t width) {
  while (!line.empty() && text_width(line, kTextSize) > width) line.pop_back();
  return line;
}

std::string score_text(float score) { return to_fixed(static_cast<double>(score), 2); }

Colour colour_of(bool shared) { return shared ? kShared : kAlone; }

// Draws the box with the lowest score first, so that the best box lies on top.
void draw_boxes(const std::vector<Box>& boxes, const std::vector<bool>& shared,
                std::int64_t thickness, Panel& panel) {
  for (std::size_t i = boxes.size(); i-- > 0;) {
    panel.draw(boxes[i], colour_of(shared[i]), thickness);
  }
}

// Writes the caption of the best box first, so that it gets the best place. If there is only one
// class, captions do not name it.
void write_captions(const std::vector<Box>& boxes, const std::vector<bool>& shared,
                    std::int64_t classes, std::span<const std::string> class_names, Panel& panel) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::string name =
        classes == 1 ? std::string() : to_text(class_name(boxes[i].label, class_names), " ");
    panel.write(boxes[i], colour_of(shared[i]),
                to_text(fitted(name, kShortest / 2), score_text(boxes[i].score)));
  }
}

// For each model, which of its boxes the other model has too. If there is only one model, all its
// boxes count as shared.
std::array<std::vector<bool>, 2> shared_boxes(const InferResult& result) {
  std::array<std::vector<bool>, 2> shared;
  shared[0].assign(result.fp32.answer.boxes.size(), !result.int8);
  if (result.int8) shared[1].assign(result.int8->answer.boxes.size(), false);
  for (const BoxPair& pair : result.box_pairs) {
    if (!pair.fp32 || !pair.int8) continue;
    shared[0][static_cast<std::size_t>(*pair.fp32)] = true;
    shared[1][static_cast<std::size_t>(*pair.int8)] = true;
  }
  return shared;
}

// A panel with the image scaled to a longer side of `longest` pixels and nothing drawn on it.
Panel panel_of(const Image& image, const Preprocess& preprocess, std::int64_t longest) {
  const double zoom =
      static_cast<double>(longest) / static_cast<double>(std::max(image.width, image.height));
  const auto side = [&](std::int64_t pixels) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(pixels) * zoom));
  };
  Image shown = resized(image, side(image.width), side(image.height));
  const double zoom_x = static_cast<double>(shown.width) / static_cast<double>(image.width);
  const double zoom_y = static_cast<double>(shown.height) / static_cast<double>(image.height);
  return {std::move(shown), placement_of(preprocess, image.width, image.height), zoom_x, zoom_y};
}

std::array<const InferRun*, 2> runs_of(const InferResult& result) {
  return {&result.fp32, result.int8 ? &*result.int8 : nullptr};
}

std::vector<std::string> lines_below(const InferRun& run,
                                     std::span<const std::string> class_names) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < run.top.size() && i < kMaxDrawnRows; ++i) {
    lines.push_back(to_text(to_fixed(run.top[i].probability, 3), "  ",
                            class_name(run.top[i].index, class_names)));
  }
  return lines;
}

}  // namespace

std::string boxes_text(const InferResult& result, std::size_t model) {
  const std::vector<bool> shared = shared_boxes(result).at(model);
  std::string text = to_text(shared.size(), shared.size() == 1 ? " box" : " boxes");
  if (!result.int8) return text;
  return to_text(text, ", ", std::ranges::count(shared, false), model == 0 ? " lost" : " added");
}

Image draw_small(const Image& image, const Preprocess& preprocess, const InferResult& result,
                 std::int64_t side) {
  const Panel empty = panel_of(image, preprocess, side);
  const std::array<std::vector<bool>, 2> shared = shared_boxes(result);
  const std::array<const InferRun*, 2> runs = runs_of(result);
  const std::int64_t models = result.int8 ? 2 : 1;
  const std::int64_t width = empty.image().width;
  Image page = blank_image(models * width + (models - 1) * kSmallGap, empty.image().height, kPaper);
  for (std::size_t m = 0; m < static_cast<std::size_t>(models); ++m) {
    Panel panel = empty;
    if (runs[m]->answer.mask) panel.draw(*runs[m]->answer.mask);
    draw_boxes(runs[m]->answer.boxes, shared[m], 1, panel);
    paste(page, static_cast<std::int64_t>(m) * (width + kSmallGap), 0, panel.image());
  }
  return page;
}

Image draw_answers(const Image& image, const Preprocess& preprocess, const InferResult& result,
                   std::span<const std::string> class_names) {
  const Panel empty = panel_of(
      image, preprocess, std::clamp(std::max(image.width, image.height), kShortest, kLongest));
  const Image& shown = empty.image();
  const std::array<const InferRun*, 2> runs = runs_of(result);
  const std::array<std::vector<bool>, 2> shared = shared_boxes(result);

  const std::int64_t models = result.int8 ? 2 : 1;
  const std::int64_t column = std::max(shown.width, kShortest);
  const std::int64_t rows = static_cast<std::int64_t>(
      std::min(kMaxDrawnRows, std::max(runs[0]->top.size(), models > 1 ? runs[1]->top.size() : 0)));
  Image page =
      blank_image(kGap + models * (column + kGap),
                  2 * kGap + kLine + shown.height + (rows > 0 ? kGap + rows * kLine : 0), kPaper);
  for (std::size_t m = 0; m < static_cast<std::size_t>(models); ++m) {
    const InferRun& run = *runs[m];
    Panel panel = empty;
    if (run.answer.mask) panel.draw(*run.answer.mask);
    draw_boxes(run.answer.boxes, shared[m], 2, panel);
    write_captions(run.answer.boxes, shared[m], result.classes, class_names, panel);
    const std::int64_t left = kGap + static_cast<std::int64_t>(m) * (column + kGap);
    std::string title = m == 0 ? "FP32" : "INT8";
    if (result.detects) title += to_text("  ", boxes_text(result, m));
    draw_text(page, left, kGap, fitted(title, column), kTextSize, kInk);
    std::int64_t top = kGap + kLine;
    paste(page, left, top, panel.image());
    top += shown.height + kGap;
    for (const std::string& line : lines_below(run, class_names)) {
      draw_text(page, left, top, fitted(line, column), kTextSize, kInk);
      top += kLine;
    }
  }
  return page;
}

}  // namespace qtool
