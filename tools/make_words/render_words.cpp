// Draws words as images of 320 x 32 pixels (.ppm), for networks that read text. Each image is a
// function of its word and its number alone: font, size, grey levels, place, blur and noise follow
// from the number. As in the preprocessing of such networks, the image of the word ends a little
// behind it, and mid-grey fills the rest: networks were trained with that, and read letters into
// paper without a word. Usage: render_words WORDS FIRST COUNT FOLDER FONT.ttf...
//   WORDS          a file with one word per line
//   FIRST, COUNT   which of them, from 0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define STBTT_STATIC
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb_truetype.h>

namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 32;

// The same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint32_t seed) : state_(seed * 2654435761U + 1U) {}
  // In [low, high).
  float next(float low, float high) {
    state_ = state_ * 1664525U + 1013904223U;
    return low + (high - low) * static_cast<float>(state_ >> 8U) / 16777216.0F;
  }

 private:
  std::uint32_t state_;
};

std::vector<unsigned char> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("'" + path + "' cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr unsigned char kPadding = 127;

struct Drawing {
  std::vector<float> ink;  // how much of each pixel is ink, 0 to 1
  int end = kWidth;        // columns from here on are padding
};

// The word is made narrower where it would not fit.
Drawing draw(const std::string& word, const stbtt_fontinfo& font, Random& random) {
  const float left = random.next(3.0F, 10.0F);
  const float size = random.next(22.0F, 29.0F);
  float scale = stbtt_ScaleForPixelHeight(&font, size);
  int advance = 0;
  int bearing = 0;
  float width = 0.0F;
  for (const char c : word) {
    stbtt_GetCodepointHMetrics(&font, c, &advance, &bearing);
    width += scale * static_cast<float>(advance);
  }
  const float room = static_cast<float>(kWidth) - left - 4.0F;
  const float narrow = std::min(1.0F, room / width);
  int ascent = 0;
  int descent = 0;
  int gap = 0;
  stbtt_GetFontVMetrics(&font, &ascent, &descent, &gap);
  const float base =
      (static_cast<float>(kHeight) + scale * static_cast<float>(ascent + descent)) / 2;
  std::vector<float> ink(kWidth * kHeight, 0.0F);
  float x = left;
  for (std::size_t i = 0; i < word.size(); ++i) {
    int glyph_width = 0;
    int glyph_height = 0;
    int offset_x = 0;
    int offset_y = 0;
    unsigned char* glyph = stbtt_GetCodepointBitmapSubpixel(
        &font, scale * narrow, scale, x - std::floor(x), base - std::floor(base), word[i],
        &glyph_width, &glyph_height, &offset_x, &offset_y);
    for (int row = 0; row < glyph_height; ++row) {
      for (int column = 0; column < glyph_width; ++column) {
        const int to_x = static_cast<int>(std::floor(x)) + offset_x + column;
        const int to_y = static_cast<int>(std::floor(base)) + offset_y + row;
        if (to_x < 0 || to_x >= kWidth || to_y < 0 || to_y >= kHeight) continue;
        float& at = ink[static_cast<std::size_t>(to_y * kWidth + to_x)];
        at = std::max(at, static_cast<float>(glyph[row * glyph_width + column]) / 255.0F);
      }
    }
    stbtt_FreeBitmap(glyph, nullptr);
    stbtt_GetCodepointHMetrics(&font, word[i], &advance, &bearing);
    x += scale * narrow * static_cast<float>(advance);
    if (i + 1 < word.size()) {
      x += scale * narrow *
           static_cast<float>(stbtt_GetCodepointKernAdvance(&font, word[i], word[i + 1]));
    }
  }
  return {std::move(ink), std::min(kWidth, static_cast<int>(std::ceil(x + left)))};
}

// The mean of each pixel and its neighbours, of which those count `share`.
std::vector<float> blurred(const std::vector<float>& ink, float share) {
  std::vector<float> result(ink.size());
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      float sum = 0.0F;
      float weights = 0.0F;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (x + dx < 0 || x + dx >= kWidth || y + dy < 0 || y + dy >= kHeight) continue;
          const float weight = dx == 0 && dy == 0 ? 1.0F : share;
          sum += weight * ink[static_cast<std::size_t>((y + dy) * kWidth + x + dx)];
          weights += weight;
        }
      }
      result[static_cast<std::size_t>(y * kWidth + x)] = sum / weights;
    }
  }
  return result;
}

void write(const std::string& path, const Drawing& drawing, Random& random) {
  const bool light_on_dark = random.next(0.0F, 1.0F) < 0.2F;
  float paper = random.next(190.0F, 255.0F);
  float letters = random.next(0.0F, 90.0F);
  if (light_on_dark) std::swap(paper, letters);
  const float noise = random.next(0.0F, 8.0F);
  std::ofstream out(path, std::ios::binary);
  out << "P6\n" << kWidth << ' ' << kHeight << "\n255\n";
  for (std::size_t i = 0; i < drawing.ink.size(); ++i) {
    const float share = drawing.ink[i];
    const bool padding = static_cast<int>(i % kWidth) >= drawing.end;
    for (int channel = 0; channel < 3; ++channel) {
      const float grey = paper + (letters - paper) * share + random.next(-noise, noise);
      const auto level = static_cast<unsigned char>(std::clamp(grey, 0.0F, 255.0F));
      out.put(static_cast<char>(padding ? kPadding : level));
    }
  }
  if (!out) throw std::runtime_error("'" + path + "' cannot be written");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5) throw std::runtime_error("expected WORDS FIRST COUNT FOLDER FONT...");
  std::ifstream in(arguments[0]);
  std::vector<std::string> words;
  for (std::string line; std::getline(in, line);) words.push_back(line);
  const std::size_t first = std::stoul(arguments[1]);
  const std::size_t count = std::stoul(arguments[2]);
  if (first + count > words.size()) {
    throw std::runtime_error("'" + arguments[0] + "' has only " + std::to_string(words.size()) +
                             " words");
  }
  std::vector<std::vector<unsigned char>> fonts;
  for (std::size_t i = 4; i < arguments.size(); ++i) fonts.push_back(bytes_of(arguments[i]));
  for (std::size_t i = first; i < first + count; ++i) {
    const std::vector<unsigned char>& file = fonts[i % fonts.size()];
    stbtt_fontinfo font;
    if (stbtt_InitFont(&font, file.data(), stbtt_GetFontOffsetForIndex(file.data(), 0)) == 0) {
      throw std::runtime_error("'" + arguments[4 + i % fonts.size()] + "' is no font");
    }
    Random random(static_cast<std::uint32_t>(i));
    Drawing drawing = draw(words[i], font, random);
    drawing.ink = blurred(drawing.ink, random.next(0.0F, 0.6F));
    char name[32];
    std::snprintf(name, sizeof(name), "/%03zu.ppm", i);
    write(arguments[3] + name, drawing, random);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "render_words: %s\n", error.what());
    return 1;
  }
}
