#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "image/decode_budget.h"
#include "image/image_header.h"
#include "qtool/base/error.h"
#include "unit/image_bytes.h"

namespace qtool {
namespace {
using testing::HasSubstr;

TEST(DecodeBudget, IsNeverExceededByThreadsTogether) {
  DecodeBudget budget(100);
  std::atomic<int> held{0};
  std::atomic<int> most{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const DecodeBudget::Lease lease(budget, 40);
        const int now = held += 40;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        held -= 40;
      }
    });
  }
  threads.clear();
  EXPECT_LE(most, 80);
}

TEST(DecodeBudget, ServesAnImageBeyondItAlone) {
  DecodeBudget budget(100);
  std::optional<DecodeBudget::Lease> small;
  small.emplace(budget, 10);
  std::atomic<bool> served{false};
  std::jthread large([&] {
    const DecodeBudget::Lease lease(budget, 1000);
    served = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(served);
  small.reset();
  large.join();
  EXPECT_TRUE(served);
}

// The decoder may take the memory that is computed from the header. Every golden image decodes
// within this limit, and the limit is at most twice the memory that the format needs.
TEST(ImageHeader, KnowsWhatDecodingTakes) {
  const ImageHeader rgb = read_jpeg_header(golden("decode_gray.jpg"));
  const std::int64_t pixels = rgb.width * rgb.height;
  EXPECT_GE(rgb.decoder_bytes, 4 * pixels);  // a gray plane and the image
  EXPECT_LE(rgb.decoder_bytes, 6 * pixels + 64 * (rgb.width + rgb.height));
  const ImageHeader alpha = read_png_header(golden("decode_alpha.png"));
  EXPECT_GE(alpha.decoder_bytes, 8 * alpha.width * alpha.height);
}

TEST(DecodeImage, RefusesWhatWouldTakeTooMuchBeforeItTakesIt) {
  std::string jpeg = golden("decode_progressive.jpg");
  const std::size_t frame = jpeg.find("\xFF\xC2");
  ASSERT_NE(frame, std::string::npos);
  jpeg[frame + 11] = '\x11';  // every component as large as the image
  jpeg.replace(frame + 5, 4, big_endian(16000U << 16 | 16700U));
  jpeg.append(1U << 18U, '\0');  // enough bits for the number of blocks
  try {
    static_cast<void>(decode_image(jpeg, "huge.jpg"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("image 'huge.jpg' would take "));
    EXPECT_THAT(error.what(), HasSubstr(" MB to decode, at most "));
  }
}

TEST(DecodeImage, AcceptsThePixelsOfALargePhotograph) {
  EXPECT_NO_THROW(check_image_size(12000, 9000));
  EXPECT_THROW(check_image_size(65000, 65000), Error);
}

}  // namespace
}  // namespace qtool
