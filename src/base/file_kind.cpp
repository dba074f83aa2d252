#include "base/file_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace qtool {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

struct Magic {
  std::size_t at;
  std::string_view bytes;
  std::string_view what;
  std::size_t also_at = 0;  // position of `also`, more bytes that must match
  std::string_view also{};

  [[nodiscard]] bool fits(std::string_view file) const {
    return begins(file, at, bytes) && begins(file, also_at, also);
  }

 private:
  static bool begins(std::string_view file, std::size_t at, std::string_view bytes) {
    return file.size() >= at && file.substr(at).starts_with(bytes);
  }
};

constexpr std::string_view kZeros("\0\0", 2);

// Sources: the specifications of the formats; file(1) has the same numbers.
constexpr std::array kMagics = {
    Magic{0, "version https://git-lfs.github.com/",
          "is a Git LFS pointer, not the file itself; run 'git lfs pull'"},
    Magic{8, "WEBP", "is a WebP image", 0, "RIFF"},
    Magic{0, "\xFF\xD8\xFF", "is a JPEG image"},
    Magic{0, "\x89PNG\r\n\x1A\n", "is a PNG image"},
    Magic{0, "GIF87a", "is a GIF image"},
    Magic{0, "GIF89a", "is a GIF image"},
    Magic{0, std::string_view("II*\0", 4), "is a TIFF image"},
    Magic{0, std::string_view("MM\0*", 4), "is a TIFF image"},
    Magic{0, std::string_view("\0\0\0\x0CJXL ", 8), "is a JPEG XL image"},
    Magic{0, std::string_view("\0\0\0\x0CjP  ", 8), "is a JPEG 2000 image"},
    Magic{0, "8BPS", "is a Photoshop image"},
    Magic{4, "ftypavif", "is an AVIF image", 0, kZeros},
    Magic{4, "ftypavis", "is an AVIF image", 0, kZeros},
    Magic{4, "ftyphei", "is an HEIC image", 0, kZeros},
    Magic{4, "ftyphev", "is an HEIC image", 0, kZeros},
    Magic{4, "ftypmif1", "is an HEIF image", 0, kZeros},
    Magic{4, "ftypmsf1", "is an HEIF image", 0, kZeros},
    Magic{4, "ftyp", "is an MP4 or QuickTime video", 0, kZeros},
    Magic{0, "%PDF-", "is a PDF document"},
    Magic{0, "PK\x03\x04", "is a zip archive (PyTorch saves its models so); unpack or export it"},
    Magic{0, "\x1F\x8B\x08", "is compressed by gzip; unpack it"},
    Magic{4, "TFL3", "is a TensorFlow Lite model; convert it to ONNX", 2, kZeros},
    Magic{0, "\x89HDF\r\n\x1A\n", "is an HDF5 file; export it to ONNX"},
    Magic{0, "\x93NUMPY", "is a NumPy array"},
    Magic{0, "\xFF\xFE", "is text in UTF-16, save it as UTF-8"},
    Magic{0, "\xFE\xFF", "is text in UTF-16, save it as UTF-8"},
};

bool begins_like(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char wanted, char found) {
           return wanted == (found >= 'A' && found <= 'Z' ? static_cast<char>(found + 32) : found);
         });
}

}  // namespace

std::string_view recognise_foreign_file(std::string_view bytes) noexcept {
  for (const Magic& magic : kMagics) {
    if (magic.fits(bytes)) return magic.what;
  }
  std::string_view text = without_byte_order_mark(bytes);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view page : {"<!doctype html", "<html", "<head", "<body"}) {
    if (begins_like(text, page)) {
      return "is a web page, perhaps what a failed download left; fetch the file again";
    }
  }
  if (begins_like(text, "<svg")) return "is an SVG image";
  if (begins_like(text, "<?xml")) return "is an XML document, perhaps what a failed download left";
  return {};
}

std::string_view without_byte_order_mark(std::string_view text) noexcept {
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  return text;
}

}  // namespace qtool
