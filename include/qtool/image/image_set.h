#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace qtool {

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

/// The images (jpg jpeg png bmp ppm pgm pnm, any case) of a folder, a list file, or one image.
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
