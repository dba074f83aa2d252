#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include "base/did_you_mean.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/text.h"
#include "image/keep_spread.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 28;
constexpr std::array<std::string_view, 10> kExtensions = {".jpg", ".jpeg", ".jpe", ".jfif", ".png",
                                                          ".bmp", ".webp", ".ppm", ".pgm",  ".pnm"};
// Pictures that are not read. Without this list, a folder of them would seem to be read as a whole.
constexpr std::array<std::string_view, 10> kOtherPictures = {
    ".avif", ".gif", ".heic", ".heif", ".jp2", ".jxl", ".psd", ".svg", ".tif", ".tiff"};
constexpr std::string_view kSources =
    "a folder, a list file, or a jpg, png, bmp, webp or pnm image";
constexpr std::string_view kWanted = "jpg, jpeg, jpe, jfif, png, bmp, webp, ppm, pgm or pnm files";

bool has_extension(const fs::path& path, std::span<const std::string_view> extensions) {
  const std::string extension = to_lower(path.extension().string());
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool is_image_file(const fs::path& path) { return has_extension(path, kExtensions); }
bool is_other_picture(const fs::path& path) { return has_extension(path, kOtherPictures); }

// Whether a class that is a number is an index, as in list files, or a name like any other.
enum class Numbers { kAreIndices, kAreNames };

// An image before its class has an index.
struct Found {
  std::string relative;
  std::string label;  // the name of its class; empty = none
};

// The images below a folder. Links to folders are followed after the real ones, and no folder is
// entered twice, so a link back into the tree neither repeats images nor loops.
class FolderWalk {
 public:
  explicit FolderWalk(const fs::path& root) : root_(root) {
    enter("");
    for (std::size_t i = 0; i < links_.size(); ++i) enter(std::string(links_[i]));
  }

  std::vector<Found> take() && { return std::move(found_); }

  [[nodiscard]] PassedOver passed_over() const {
    PassedOver result{passed_over_, {}};
    for (const std::string& relative : first_passed_over_) result.first.push_back(root_ / relative);
    return result;
  }

 private:
  void enter(const std::string& folder) {
    std::error_code ec;
    const fs::path path = folder.empty() ? root_ : root_ / folder;
    if (!entered_.insert(fs::canonical(path, ec).string()).second) return;
    std::vector<std::string> folders;
    std::vector<std::string> links;
    for (const fs::directory_entry& entry : list_folder(path)) {
      const std::string name = entry.path().filename().string();
      std::string relative = folder.empty() ? name : to_text(folder, "/", name);
      std::error_code status;
      if (entry.is_directory(status)) {
        (entry.is_symlink(status) ? links : folders).push_back(std::move(relative));
      } else if (is_image_file(name)) {
        found_.push_back({std::move(relative), fs::path(folder).filename().string()});
      } else if (is_other_picture(name)) {
        pass_over(std::move(relative));
      }
    }
    links_.insert(links_.end(), links.begin(), links.end());
    for (const std::string& inner : folders) enter(inner);
  }

  // Names only the first files, since there may be any number of them.
  void pass_over(std::string relative) {
    ++passed_over_;
    first_passed_over_.insert(std::move(relative));
    if (first_passed_over_.size() > PassedOver::kMostNamed) {
      first_passed_over_.erase(std::prev(first_passed_over_.end()));
    }
  }

  fs::path root_;
  std::set<std::string> entered_;
  std::vector<std::string> links_;
  std::vector<Found> found_;
  std::int64_t passed_over_ = 0;
  std::set<std::string> first_passed_over_;
};

// Explains why a folder that is full of pictures holds no image.
std::string other_pictures_text(const PassedOver& passed_over) {
  if (passed_over.count == 0) return "";
  return to_text("; pictures of formats that are not read: ", passed_over.count, ", the first '",
                 passed_over.first.front().string(), "'");
}

// A text file, or an Error(kUsage) that says what `path` is instead.
std::string read_text(const fs::path& path, std::string_view what, std::string_view expected) {
  std::string bytes = read_file(path, kMaxListBytes);
  std::string_view found = recognise_foreign_file(bytes);
  if (found.empty() && bytes.find('\0') != std::string::npos) found = "is not text";
  if (!found.empty()) {
    throw Error(ErrorCode::kUsage,
                to_text(what, " '", path.string(), "' ", found, ", expected ", expected));
  }
  return bytes;
}

Found parse_list_line(std::string_view line) {
  // A path may contain blanks: without a tab, a line that ends in an image's extension has no
  // label.
  std::size_t end = line.rfind('\t');
  if (end == std::string_view::npos && !is_image_file(line) && !is_other_picture(line)) {
    end = line.rfind(' ');
  }
  if (end == std::string_view::npos) return {std::string(line), {}};
  return {std::string(trim(line.substr(0, end))), std::string(trim(line.substr(end)))};
}

std::vector<Found> read_list(const fs::path& path) {
  const std::string bytes = read_text(path, "images:", kSources);
  std::vector<Found> found;
  for (const std::string& line : split(without_byte_order_mark(bytes), '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty() && text.front() != '#') found.push_back(parse_list_line(text));
  }
  return found;
}

bool is_index(const std::string& text) {
  constexpr std::size_t kMaxDigits = 9;
  return text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t"));
}

// Class names given by the user: looked up by the whole line, else by its first word.
class LabelIndex {
 public:
  explicit LabelIndex(std::span<const std::string> labels) : labels_(labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      lines_[labels[i]].push_back(static_cast<std::int64_t>(i));
      words_[std::string(first_word(labels[i]))].push_back(static_cast<std::int64_t>(i));
    }
  }

  [[nodiscard]] bool holds(const std::string& name) const {
    return lines_.contains(name) || words_.contains(name);
  }

  /// Throws Error(kUsage) when there is no such class, or more than one.
  [[nodiscard]] std::int64_t find(const std::string& name) const {
    for (const auto* names : {&lines_, &words_}) {
      const auto row = names->find(name);
      if (row == names->end()) continue;
      if (row->second.size() > 1) {
        throw Error(ErrorCode::kUsage,
                    to_text("class '", name, "' is in the labels twice, as ", row->second[0],
                            " and ", row->second[1], ", expected once"));
      }
      return row->second[0];
    }
    throw Error(ErrorCode::kUsage, to_text("class '", name, "' is not among the ", labels_.size(),
                                           " labels", did_you_mean(name, labels_)));
  }

 private:
  using Rows = std::map<std::string, std::vector<std::int64_t>>;
  std::span<const std::string> labels_;
  Rows lines_;
  Rows words_;
};

// The index of every image's class, -1 without one; fills `class_names`.
std::vector<std::int64_t> index_labels(const std::vector<Found>& found,
                                       std::span<const std::string> labels, Numbers numbers,
                                       std::vector<std::string>& class_names) {
  std::set<std::string> names;
  for (const Found& image : found) {
    if (!image.label.empty()) names.insert(image.label);
  }
  const LabelIndex given(labels);
  const bool bare = numbers == Numbers::kAreIndices && labels.empty() &&
                    std::all_of(names.begin(), names.end(), is_index);
  std::map<std::string, std::int64_t> indices;
  for (const std::string& name : names) {
    const bool index =
        bare || (numbers == Numbers::kAreIndices && is_index(name) && !given.holds(name) &&
                 parse_int(name, "label") < std::ssize(labels));
    if (index) {
      indices[name] = parse_int(name, "label");
    } else if (labels.empty()) {
      indices[name] = std::ssize(class_names);
      class_names.push_back(name);
    } else {
      indices[name] = given.find(name);
    }
  }
  if (!labels.empty()) class_names.assign(labels.begin(), labels.end());
  std::vector<std::int64_t> result;
  for (const Found& image : found) {
    result.push_back(image.label.empty() ? -1 : indices.at(image.label));
  }
  return result;
}

}  // namespace

std::vector<std::string> read_labels(const fs::path& path) {
  std::vector<std::string> labels;
  const std::string bytes = read_text(path, "labels file", "a class name per line");
  for (const std::string& line : split(without_byte_order_mark(bytes), '\n')) {
    labels.emplace_back(trim(line));
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  const auto gap = std::find(labels.begin(), labels.end(), "");
  if (gap != labels.end()) {
    throw Error(ErrorCode::kUsage,
                to_text("labels file '", path.string(), "': line ", gap - labels.begin() + 1,
                        " is empty, expected a class name on every line"));
  }
  return labels;
}

ImageSet list_images(const fs::path& source, std::span<const std::string> labels,
                     std::int64_t limit) {
  if (limit < 0) {
    throw Error(ErrorCode::kUsage,
                to_text("limit of images: found ", limit, ", expected 0 or more"));
  }
  std::error_code ec;
  const fs::file_status status = fs::status(source, ec);
  if (!fs::exists(status)) {
    throw Error(ErrorCode::kIo, to_text("images: '", source.string(), "' does not exist"));
  }
  ImageSet set;
  std::vector<Found> found;
  Numbers numbers = Numbers::kAreNames;
  if (fs::is_directory(status)) {
    set.root = source;
    FolderWalk walk(source);
    set.passed_over = walk.passed_over();
    found = std::move(walk).take();
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.relative < b.relative; });
  } else {
    set.root = source.parent_path();
    numbers = Numbers::kAreIndices;
    if (is_image_file(source)) {
      found.push_back({source.filename().string(), {}});
    } else {
      found = read_list(source);
    }
  }
  if (found.empty()) {
    throw Error(ErrorCode::kIo,
                to_text("images: '", source.string(), "' holds no image, looked for ", kWanted,
                        fs::is_directory(status) ? " at any depth" : "",
                        other_pictures_text(set.passed_over)));
  }
  set.names_given = !labels.empty();
  const std::vector<std::int64_t> classes = index_labels(found, labels, numbers, set.class_names);
  for (std::size_t i = 0; i < found.size(); ++i) {
    set.entries.push_back({set.root / found[i].relative, classes[i]});
  }
  if (limit > 0) keep_spread(set.entries, limit);
  return set;
}

std::uint64_t hash_of(const ImageSet& set) {
  std::string text;
  for (const ImageEntry& entry : set.entries) {
    const fs::path relative = entry.path.lexically_relative(set.root);
    std::error_code ec;
    const std::uintmax_t size = fs::file_size(entry.path, ec);
    text += to_text((relative.empty() ? entry.path : relative).generic_string(), "\n",
                    ec ? std::int64_t{-1} : static_cast<std::int64_t>(size), "\n");
  }
  return hash_bytes(text);
}

}  // namespace qtool
