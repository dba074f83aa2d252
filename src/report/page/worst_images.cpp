#include "report/page/worst_images.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/text.h"
#include "compare/class_tally.h"
#include "image/resize.h"
#include "image/stb_encode.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"
#include "report/answers.h"
#include "report/page/draw_answers.h"

namespace qtool {
namespace {

std::string jpeg_of(const std::filesystem::path& path) {
  try {
    const Image image = load_image(path);
    const double part = std::min(1.0, static_cast<double>(kThumbnailSide) /
                                          static_cast<double>(std::max(image.width, image.height)));
    const auto scaled = [part](std::int64_t side) {
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(side) * part));
    };
    Image small{scaled(image.width), scaled(image.height), {}};
    small.pixels = resize({image.width, image.height, 3, image.pixels}, small.width, small.height,
                          {0, 0, small.width, small.height});
    return encode_jpeg(small);
  } catch (const Error&) {
    return {};  // a file of tensors, or an image that is no longer there
  }
}

std::string answer_of(const EvalResult& result, const TopClass& top) {
  if (top.index < 0) return {};
  return to_text(class_name(top.index, result.class_names), ", margin ", to_fixed(top.margin, 2));
}

WorstImage shown(const EvalResult& result, const SampleResult& sample) {
  WorstImage image;
  image.path = sample.path.string();
  image.flipped = sample.flipped();
  if (!sample.sqnr_db.empty()) image.sqnr_db = mean_sqnr_db(sample);
  if (sample.label >= 0) image.label = class_name(sample.label, result.class_names);
  for (std::size_t m = 0; m < image.answers.size(); ++m) {
    image.answers[m] = answer_of(result, sample.top1[m]);
  }
  return image;
}

}  // namespace

std::vector<WorstImage> worst_images(const EvalResult& result, std::size_t count) {
  std::vector<const SampleResult*> chosen = flips(result.samples);
  chosen.resize(std::min(chosen.size(), count / 2));
  for (const SampleResult* sample : lowest_sqnr(result.samples, result.samples.size())) {
    if (chosen.size() == count) break;
    if (std::find(chosen.begin(), chosen.end(), sample) == chosen.end()) chosen.push_back(sample);
  }
  std::vector<WorstImage> images;
  for (const SampleResult* sample : chosen) images.push_back(shown(result, *sample));
  return images;
}

void draw_answers_on(std::vector<WorstImage>& images, std::size_t count,
                     const Preprocess& preprocess,
                     const std::function<InferResult(const std::string& path)>& answer) {
  for (WorstImage& image : images) {
    try {
      const InferResult result = answer(image.path);
      image.jpeg = encode_jpeg(draw_small(load_image(image.path), preprocess, result, kDrawnSide));
      image.drawn = true;
      if (!result.detects) continue;
      for (std::size_t m = 0; m < image.answers.size(); ++m) {
        image.answers[m] = boxes_text(result, m);
      }
      image.differing = std::ranges::count_if(result.box_pairs, [](const BoxPair& pair) {
        return pair.fp32.has_value() != pair.int8.has_value();
      });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
    }
  }
  std::ranges::stable_sort(images, std::greater{}, &WorstImage::differing);
  if (images.size() > count) images.resize(count);
}

void add_thumbnails(std::vector<WorstImage>& images) {
  for (WorstImage& image : images) {
    if (image.jpeg.empty()) image.jpeg = jpeg_of(image.path);
  }
}

}  // namespace qtool
