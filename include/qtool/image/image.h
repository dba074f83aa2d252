#pragma once

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

/// What happens to the alpha channel of a file: colours are never blended with it.
enum class Alpha : std::uint8_t { kDrop, kKeep };

/// The image in the JPEG, PNG, BMP, WebP or PNM (P2, P3, P5, P6) file `bytes`, upright. What counts
/// is the content, not the name.
/// Gray is repeated into the three channels, CMYK becomes RGB, of 16-bit PNG samples the high byte
/// is kept, PNM samples are scaled to 255, and the EXIF orientation of JPEG, PNG and WebP files is
/// applied; embedded colour profiles are ignored, animations refused. Throws
/// Error(kInvalidImage) that names `name` when the format is another one, when the file is corrupt
/// or ends early, or when the image has a side above 65,535, more than 2^28 pixels, or takes over
/// 2 GiB: sizes are checked before memory is taken. Cost: one pass; for a 299x299 JPEG about 1 ms.
/// Source: stb_image for JPEG, PNG and BMP, libwebp for WebP.
Image decode_image(std::string_view bytes, std::string_view name, Alpha alpha = Alpha::kDrop);

/// decode_image of a file of at most 2^28 bytes. Throws Error(kIo) when it cannot be read.
Image load_image(const std::filesystem::path& path, Alpha alpha = Alpha::kDrop);

/// The colours of the image as a PNG file. Throws Error(kInvalidArgument) when `image` holds
/// another number of bytes than 3 per pixel, Error(kUnsupported) when it takes more memory than
/// there is. Source: stb_image_write.
std::string encode_png(const Image& image);

struct ImageEntry {
  std::filesystem::path path;  ///< can be opened as it is
  std::int64_t label = -1;     ///< class index from 0; -1 = unlabelled
  friend bool operator==(const ImageEntry&, const ImageEntry&) = default;
};

/// The images of a folder or list file, in a fixed order.
struct ImageSet {
  std::filesystem::path root;  ///< the folder, or that of the list file
  std::vector<ImageEntry> entries;
  std::vector<std::string> class_names;  ///< index = label; empty when the labels are bare numbers
};

/// The class names in a file, one per line, index = line from 0; surrounding blanks and empty lines
/// at the end are dropped. Throws Error(kIo), or Error(kUsage) when a line between names is empty.
std::vector<std::string> read_labels(const std::filesystem::path& path);

/// The images (jpg jpeg png bmp webp ppm pgm pnm, any case) of a folder, a list file, or one image.
/// Folder: any nesting, sorted by relative path bytewise; names with a leading dot are left out; a
/// linked folder is followed once. The folder an image lies in is its class: its index in `labels`
/// (a whole line, or the first word of one), or without `labels` its index among the sorted class
/// folders. Images directly in the root are unlabelled.
/// List file: one `path`, or `path<tab or space>label`, per line in its own order, relative to the
/// list's folder; empty lines and lines with a leading # are left out. A label is a class name, or
/// an index when every label of the file is a number.
/// With `limit` > 0 and more images, entry i is image trunc(i * count / limit): spread evenly,
/// so that all classes take part.
/// Throws Error(kIo) when there is nothing to read or no image, Error(kUsage) when a class is not
/// in `labels` (with the three nearest), occurs there twice, or `limit` is negative.
ImageSet list_images(const std::filesystem::path& source, std::span<const std::string> labels = {},
                     std::int64_t limit = 0);

/// A fingerprint for provenance: XXH64 over relative paths and file sizes, in order. A missing file
/// has the size -1.
std::uint64_t hash_of(const ImageSet& set);

}  // namespace qtool
