#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// An image: always RGB, 3 bytes per pixel, row-major from the top left, without padding.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels{};  ///< height * width * 3 bytes
  /// height * width bytes, 255 where opaque; empty: dropped, or opaque everywhere.
  std::vector<std::uint8_t> alpha{};
  friend bool operator==(const Image&, const Image&) = default;
};

/// Whether the alpha channel of a file is dropped or kept. Colours are never blended with it.
enum class Alpha : std::uint8_t { kDrop, kKeep };

/// Decodes the JPEG, PNG, BMP, WebP or PNM (P2, P3, P5, P6) file `bytes` and turns the image
/// upright. The content decides the format, not the name.
/// Gray is repeated into the three channels, CMYK becomes RGB, 16-bit PNG samples keep their high
/// byte, PNM samples are scaled to 255, and the EXIF orientation of JPEG, PNG and WebP files is
/// applied. Embedded colour profiles are ignored. Animations are refused. Throws
/// Error(kInvalidImage) that names `name` when the format is not one of these, when the file is
/// corrupt or ends early, or when the image has a side above 65,535, has more than 2^28 pixels or
/// needs more than 2 GiB. Sizes are checked before memory is allocated. Cost: one pass; for a
/// 299x299 JPEG about 1 ms.
/// Source: stb_image for JPEG, PNG and BMP, libwebp for WebP.
Image decode_image(std::string_view bytes, std::string_view name, Alpha alpha = Alpha::kDrop);

/// decode_image() for a file of at most 2^28 bytes. Throws Error(kIo) when it cannot be read.
Image load_image(const std::filesystem::path& path, Alpha alpha = Alpha::kDrop);

/// The colours of the image as a PNG file. Throws Error(kInvalidImage) for a size that
/// decode_image() refuses, Error(kInvalidArgument) when `image` does not hold 3 bytes per pixel,
/// Error(kUnsupported) when there is not enough memory. Source: stb_image_write.
std::string encode_png(const Image& image);

struct ImageEntry {
  std::filesystem::path path;  ///< can be opened as it is
  std::int64_t label = -1;     ///< class index from 0; -1 = unlabelled
  friend bool operator==(const ImageEntry&, const ImageEntry&) = default;
};

/// Files of a folder that are pictures by their names, in formats that are not read: avif, gif,
/// heic, heif, jp2, jxl, psd, svg, tif, tiff.
struct PassedOver {
  static constexpr std::size_t kMostNamed = 10;
  std::int64_t count = 0;
  /// The first kMostNamed files, sorted like the images of the folder.
  std::vector<std::filesystem::path> first{};
  friend bool operator==(const PassedOver&, const PassedOver&) = default;
};

/// The images of a folder or list file, in a fixed order.
struct ImageSet {
  std::filesystem::path root;  ///< the folder, or the folder of the list file
  std::vector<ImageEntry> entries;
  std::vector<std::string> class_names;  ///< index = label; empty when the labels are bare numbers
  PassedOver passed_over{};              ///< of the whole folder, whatever the limit
  bool names_given = false;  ///< `class_names` are the caller's, not those of folders or of a list
};

/// The class names in a file, one per line, index = line from 0; surrounding blanks and empty lines
/// at the end are dropped. Throws Error(kIo), or Error(kUsage) when a line between names is empty.
std::vector<std::string> read_labels(const std::filesystem::path& path);

/// Lists the images (jpg jpeg jpe jfif png bmp webp ppm pgm pnm, any case) of a folder or a list
/// file, or one image. In a folder, pictures of other formats are counted, see PassedOver. All
/// other files have no effect.
/// Folder: at any depth, sorted bytewise by relative path. Names with a leading dot are left out. A
/// linked folder is followed once. The class of an image is the name of the folder that holds it.
/// The label is the index of the class in `labels`, where a class may be a whole line or the first
/// word of a line. Without `labels`, it is the index among the sorted names of the class folders.
/// Images directly in the root are unlabelled.
/// List file: each line holds `path` or `path<tab or space>label`. The order is kept. Paths are
/// relative to the folder of the list. Empty lines and lines with a leading # are left out. A label
/// is a class name or an index. Without `labels`, it is an index if every label of the file is a
/// number. With `labels`, it is an index if it is a number below their count and not the name of a
/// class.
/// With `limit` > 0 and more images than that, entry i is image trunc(i * count / limit). The
/// entries are spread evenly, so that all classes take part.
/// Throws Error(kIo) when there is nothing to read or no image, Error(kUsage) when a class is not
/// in `labels` (with the three nearest), occurs there twice, or `limit` is negative.
ImageSet list_images(const std::filesystem::path& source, std::span<const std::string> labels = {},
                     std::int64_t limit = 0);

/// A fingerprint for provenance: XXH64 over relative paths and file sizes, in order. A missing file
/// has the size -1.
std::uint64_t hash_of(const ImageSet& set);

}  // namespace qtool
