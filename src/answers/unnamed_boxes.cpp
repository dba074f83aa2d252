#include "answers/unnamed_boxes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "base/round_up.h"
#include "base/text.h"

namespace qtool {
namespace {

constexpr std::int64_t kLeastHeadStride = 8;
constexpr std::int64_t kFeatures = 16;  // at least so many channels of a map hold features
constexpr std::int64_t kFewBoxes = 20;  // fewer rows may be anything
constexpr std::int64_t kQueries = 100;  // their number is a multiple of this
constexpr std::int64_t kMostQueries = 1000;

std::string shapes_text(std::span<const PortInfo> outputs) {
  std::string text;
  for (const PortInfo& output : outputs) {
    text += to_text(text.empty() ? "" : ", ", output.shape.to_string());
  }
  return text;
}

// Whether maps that have these channels, by their strides, may be heads: the same for each stride,
// or several for each.
bool are_channels_of_heads(const std::map<std::int64_t, std::vector<std::int64_t>>& strides) {
  if (strides.size() < 2) return false;
  const std::vector<std::int64_t>& first = strides.begin()->second;
  const auto is_like_first = [&](const auto& stride) {
    return stride.second.size() == first.size() && (first.size() > 1 || stride.second == first);
  };
  if (!std::ranges::all_of(strides, is_like_first)) return false;
  const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(first.front()));
  return first.size() > 1 || first.front() < kFeatures || !is_power;
}

std::string heads_text(std::span<const PortInfo> outputs, std::int64_t width, std::int64_t height) {
  std::map<std::int64_t, std::vector<std::int64_t>> channels;  // by stride
  std::string strides;
  for (const PortInfo& output : outputs) {
    const Shape& shape = output.shape;
    if (shape.rank() < 4 || shape.rank() > 5 || shape.elements() == 0) return {};
    // [N, C, H, W], or [N, anchors, H, W, C].
    if (shape[2] == 1 && shape[3] == 1) continue;  // SSD's last map, which may have any stride
    if (shape[2] < 2 || shape[3] < 2) return {};
    const std::int64_t stride = ceil_div(height, shape[2]);
    if (stride < kLeastHeadStride || ceil_div(width, shape[3]) != stride) return {};
    std::vector<std::int64_t>& same = channels[stride];
    if (same.empty()) strides += to_text(strides.empty() ? "" : ", ", stride);
    same.push_back(shape.rank() == 4 ? shape[1] : shape[1] * shape[4]);
  }
  if (!are_channels_of_heads(channels)) return {};
  return to_text("the outputs ", shapes_text(outputs), " are maps of strides ", strides,
                 ", which may be the heads of a detector; what is missing are boxes: the network "
                 "does not join and decode them, and anchors with sizes of their own, or distances "
                 "as distributions, are not in the file. Export the network with decoded boxes, or "
                 "describe other heads in a JSON file");
}

// The number of rows of four numbers, [N, rows, 4] or [N, 4, rows]; 0 if there are none.
std::int64_t box_rows(const Shape& shape) {
  if (shape.rank() != 3) return 0;
  return shape[2] == 4 ? shape[1] : shape[1] == 4 ? shape[2] : 0;
}

std::string rows_text(std::span<const PortInfo> outputs, std::int64_t width, std::int64_t height) {
  std::string what;
  if (outputs.size() == 1) {
    const Shape& shape = outputs.front().shape;
    // The steps of a text divide the side of its image.
    if (shape.rank() != 3 || shape[1] < kQueries || shape[1] > kMostQueries ||
        shape[1] % kQueries != 0 || width % shape[1] == 0 || height % shape[1] == 0 ||
        shape[2] <= 5) {
      return {};
    }
    what = to_text("the output ", shape.to_string(), " may hold the four numbers of a box and ",
                   shape[2] - 4, " scores for each of ", shape[1], " queries");
  }
  for (std::size_t i = 0; i < outputs.size() && what.empty(); ++i) {
    const std::int64_t rows = box_rows(outputs[i].shape);
    if (rows < kFewBoxes) continue;
    for (std::size_t j = 0; j < outputs.size() && what.empty(); ++j) {
      const Shape& other = outputs[j].shape;
      const bool has_rows = (other.rank() == 2 || other.rank() == 3) &&
                            (other[1] == rows || other[other.rank() - 1] == rows);
      if (j == i || !has_rows) continue;
      what = to_text("the outputs ", shapes_text(outputs), " may hold ", rows,
                     " boxes and their scores");
    }
  }
  if (what.empty()) return {};
  return to_text(what,
                 "; what is missing is a description of what the numbers mean: --boxes "
                 "FILE.json");
}

}  // namespace

std::string unnamed_boxes(std::span<const PortInfo> outputs, std::int64_t width,
                          std::int64_t height) {
  std::string text = heads_text(outputs, width, height);
  return text.empty() ? rows_text(outputs, width, height) : text;
}

}  // namespace qtool
