#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "qtool/image/image.h"

namespace qtool {

/// A folder of square colour images of random bytes, removed at the end. Image `i` is `i.ppm`, made
/// from the seed i.
class ImageFolder {
 public:
  ImageFolder(std::int64_t side, int count) : side_(side) {
    static std::atomic<int> folders = 0;
    root_ = std::filesystem::path(testing::TempDir()) /
            to_text("qtool_images_", ::getpid(), "_", folders++);
    std::filesystem::create_directories(root_);
    for (int image = 0; image < count; ++image) add(to_text(image, ".ppm"), image, side);
  }
  ~ImageFolder() { std::filesystem::remove_all(root_); }
  ImageFolder(const ImageFolder&) = delete;
  ImageFolder& operator=(const ImageFolder&) = delete;

  void add(const std::string& name, int seed) const { add(name, seed, side_); }
  void add(const std::string& name, int seed, std::int64_t side) const {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::string bytes = to_text("P6\n", side, " ", side, "\n255\n");
    for (std::int64_t i = 0; i < side * side * 3; ++i) {
      bytes.push_back(static_cast<char>(random() % 256));
    }
    write_file(root_ / name, bytes);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return root_; }
  [[nodiscard]] ImageSet list() const { return list_images(root_); }

 private:
  std::int64_t side_;
  std::filesystem::path root_;
};

}  // namespace qtool
