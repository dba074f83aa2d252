#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/text.h"
#include "image/keep_spread.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"
#include "samples/array_file.h"
#include "samples/npz.h"
#include "samples/sample_list.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

using Row = std::vector<SampleArray>;

std::string what_of(const SampleArray& array) {
  return to_text("file '", array.path.string(), "'",
                 array.member.empty() ? std::string() : to_text(", array '", array.member, "'"));
}

// The number of samples in an array of these extents, and the shape of one sample. std::nullopt if
// the array does not fit the input.
std::optional<std::pair<std::int64_t, Shape>> divide(const std::vector<std::int64_t>& dims,
                                                     const InputSpec& spec) {
  const auto whole = [&] { return std::pair(std::int64_t{1}, Shape(dims)); };
  if (!spec.extents) return whole();
  const std::size_t rank = spec.extents->size();
  if (dims.size() == rank + 1) {
    std::vector<std::int64_t> sample(dims.begin() + 1, dims.end());
    if (!accepts(spec, sample)) return std::nullopt;
    return std::pair(dims.front(), Shape(std::move(sample)));
  }
  // The first axis counts samples if the input declares it as 1, or leaves it open and has more
  // axes.
  const bool counts = rank > 0 && spec.extents->front().value_or(rank > 1 ? 1 : 0) == 1;
  if (dims.size() + 1 == rank && counts) {
    std::vector<std::int64_t> sample = dims;
    sample.insert(sample.begin(), 1);
    if (!accepts(spec, sample)) return std::nullopt;
    return std::pair(std::int64_t{1}, Shape(std::move(sample)));
  }
  if (dims.size() != rank) return std::nullopt;
  if (!counts) return accepts(spec, dims) ? std::optional(whole()) : std::nullopt;
  std::vector<std::int64_t> sample = dims;
  sample.front() = 1;
  if (!accepts(spec, sample)) return std::nullopt;
  return std::pair(dims.front(), Shape(std::move(sample)));
}

ArrayKind kind_of(const fs::path& path) {
  const std::optional<ArrayKind> kind = array_kind(path);
  if (!kind) {
    throw Error(ErrorCode::kUsage,
                to_text("inputs: '", path.string(), "' is no npy, npz, pb, bin, raw or wav file"));
  }
  return *kind;
}

class Listing {
 public:
  explicit Listing(TensorSet& set) : set_(set) {}

  void add_source(const fs::path& source) {
    std::error_code ec;
    if (!fs::exists(source, ec)) {
      throw Error(ErrorCode::kIo, to_text("inputs: '", source.string(), "' does not exist"));
    }
    if (fs::is_directory(source, ec)) return add_folder(source);
    if (to_lower(source.extension().string()) == ".jsonl") return add_list(source);
    add_file(source);
  }

 private:
  // Adds a single file: an array for the only input, or an archive with the arrays of all inputs.
  void add_file(const fs::path& path) {
    if (kind_of(path) == ArrayKind::kNpz) {
      std::vector<std::pair<fs::path, std::string>> places;
      for (const InputSpec& spec : set_.inputs) places.emplace_back(path, spec.name);
      const std::vector<std::string> names = npz_array_names(path);
      // numpy.savez() calls an unnamed array arr_0. So a single array may have any name.
      if (places.size() == 1 && names.size() == 1) places[0].second = names[0];
      return add_row(places);
    }
    if (set_.inputs.size() != 1) {
      throw Error(ErrorCode::kUsage,
                  to_text("inputs: file '", path.string(), "' is for one input, the network has ",
                          set_.inputs.size(), " (", input_names(),
                          "); give an .npz archive, a folder with a folder for each, or a .jsonl "
                          "list"));
    }
    add_row({{path, {}}});
  }

  void add_row(const std::vector<std::pair<fs::path, std::string>>& places) {
    Row row;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < places.size(); ++i) {
      row.push_back(array_of(places[i].first, places[i].second, set_.inputs[i]));
      count = std::max(count, row.back().count);
    }
    for (const SampleArray& array : row) {
      if (array.count == 1 || array.count == count) continue;
      throw Error(ErrorCode::kMismatch, to_text(what_of(array), ": holds ", array.count,
                                                " samples, another input's file holds ", count));
    }
    if (count > kMaxSamples - std::ssize(set_.entries)) {
      throw Error(ErrorCode::kUsage, to_text("inputs: found more than ", kMaxSamples, " samples"));
    }
    for (std::int64_t i = 0; i < count; ++i) set_.entries.push_back({set_.rows.size(), i});
    set_.rows.push_back(std::move(row));
  }

  [[nodiscard]] SampleArray array_of(const fs::path& path, const std::string& member,
                                     const InputSpec& spec) const {
    const Shape shape = ArrayFile(path, kind_of(path), member, spec, set_.audio).header().shape;
    SampleArray array{path, member, 1, {}};
    auto parts = divide(shape.dims(), spec);
    if (!parts) {
      throw Error(
          ErrorCode::kMismatch,
          to_text(what_of(array), ": has the shape ", shape.to_string(), ", input '", spec.name,
                  "' takes ", shape_text(spec), ", with or without an axis of samples in front"));
    }
    array.count = parts->first;
    array.sample = std::move(parts->second);
    return array;
  }

  void add_folder(const fs::path& folder) {
    if (add_data_set(folder)) return;
    const auto folder_of = [&](const InputSpec& spec) { return folder / spec.name; };
    // The model chooses the name of an input, so the name must not lead to a path outside the
    // folder.
    const auto has_folder = [&](const InputSpec& spec) {
      std::error_code ec;
      return !spec.name.empty() && !spec.name.starts_with('.') &&
             spec.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos &&
             fs::is_directory(folder_of(spec), ec);
    };
    if (std::all_of(set_.inputs.begin(), set_.inputs.end(), has_folder)) {
      std::vector<fs::path> folders;
      for (const InputSpec& spec : set_.inputs) folders.push_back(folder_of(spec));
      return add_folders(folders);
    }
    bool found = false;
    for (const fs::directory_entry& entry : list_folder(folder)) {
      std::error_code ec;
      if (entry.is_directory(ec)) {
        found = add_data_set(entry.path()) || found;
      } else if (array_kind(entry.path())) {
        add_file(entry.path());
        found = true;
      }
    }
    if (found) return;
    throw Error(ErrorCode::kIo,
                to_text("inputs: '", folder.string(), "' holds no tensors, looked for npy, npz, ",
                        "pb, bin, raw or wav files and for folders named like the inputs (",
                        input_names(), ")"));
  }

  // Adds the samples of one folder per input. Files with the same name belong to one sample.
  void add_folders(const std::vector<fs::path>& folders) {
    std::map<std::string, std::vector<std::pair<fs::path, std::string>>> samples;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      for (const fs::directory_entry& entry : list_folder(folders[i])) {
        const fs::path& path = entry.path();
        if (!array_kind(path)) continue;
        auto& places = samples[path.stem().string()];
        if (places.size() > i) {
          throw Error(ErrorCode::kUsage,
                      to_text("inputs: '", path.string(), "' and '", places[i].first.string(),
                              "' are both the tensor of one sample"));
        }
        if (places.size() == i) places.emplace_back(path, member_of(path));
      }
    }
    for (const auto& [stem, places] : samples) {
      if (places.size() == folders.size()) continue;
      throw Error(ErrorCode::kMismatch,
                  to_text("inputs: sample '", stem, "' has a file for ", places.size(), " of ",
                          folders.size(), " inputs (", input_names(), ")"));
    }
    if (samples.empty()) {
      throw Error(ErrorCode::kIo, to_text("inputs: folder '", folders.front().string(),
                                          "' holds no npy, npz, pb, bin, raw or wav file"));
    }
    for (const auto& [stem, places] : samples) add_row(places);
  }

  // The name of the only array of an archive with the array of one input; empty for other files.
  static std::string member_of(const fs::path& path) {
    if (kind_of(path) != ArrayKind::kNpz) return {};
    const std::vector<std::string> names = npz_array_names(path);
    if (names.size() == 1) return names.front();
    throw Error(ErrorCode::kMismatch, to_text("file '", path.string(), "': has ", names.size(),
                                              " arrays, expected that of one input"));
  }

  // Adds a data set in the form of ONNX's own tests: input_0.pb, input_1.pb ... Returns false if
  // the folder does not hold one.
  bool add_data_set(const fs::path& folder) {
    const auto file = [&](std::size_t i) { return folder / to_text("input_", i, ".pb"); };
    std::error_code ec;
    if (set_.inputs.empty() || !fs::exists(file(0), ec)) return false;
    std::vector<std::pair<fs::path, std::string>> places;
    for (std::size_t i = 0; i < set_.inputs.size(); ++i) places.emplace_back(file(i), "");
    add_row(places);
    return true;
  }

  void add_list(const fs::path& path) {
    std::vector<std::string> names;
    for (const InputSpec& spec : set_.inputs) names.push_back(spec.name);
    for (const std::vector<std::string>& files : read_sample_list(path, names)) {
      std::vector<std::pair<fs::path, std::string>> places;
      for (const std::string& file : files) {
        const fs::path full = path.parent_path() / file;
        places.emplace_back(full, member_of(full));
      }
      add_row(places);
    }
  }

  [[nodiscard]] std::string input_names() const {
    std::string names;
    for (const InputSpec& spec : set_.inputs) {
      names += to_text(names.empty() ? "'" : ", '", spec.name, "'");
    }
    return names;
  }

  TensorSet& set_;
};

constexpr std::int64_t kOpen = -1;

// The shape of each input that is a state, by index of the input; std::nullopt for the other
// inputs.
std::vector<std::optional<Shape>> state_shapes(const std::vector<InputSpec>& inputs,
                                               const std::vector<StateFeed>& states) {
  std::vector<std::optional<Shape>> shapes(inputs.size());
  for (const StateFeed& state : states) {
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const InputSpec& spec) {
      return spec.name == state.input;
    });
    if (found == inputs.end()) {
      throw Error(ErrorCode::kUsage,
                  to_text("state: the network has no input '", state.input, "'"));
    }
    std::optional<Shape>& shape = shapes[static_cast<std::size_t>(found - inputs.begin())];
    if (shape) {
      throw Error(ErrorCode::kUsage, to_text("state: input '", state.input, "' is named twice"));
    }
    if (found->dtype != DType::kFloat32) {
      throw Error(ErrorCode::kUsage, to_text("state: input '", state.input, "' is ",
                                             name_of(found->dtype), ", expected float32"));
    }
    std::vector<std::int64_t> dims;
    // An open extent is the batch. It becomes 1, because samples run one at a time.
    bool known = found->extents.has_value();
    for (std::size_t axis = 0; known && axis < found->extents->size(); ++axis) {
      const std::optional<std::int64_t>& extent = (*found->extents)[axis];
      known = extent || std::find(dims.begin(), dims.end(), kOpen) == dims.end();
      dims.push_back(extent.value_or(kOpen));
    }
    if (!known) {
      throw Error(ErrorCode::kUsage,
                  to_text("state: input '", state.input, "' takes ", shape_text(*found),
                          ", expected one open extent at most, the batch"));
    }
    std::replace(dims.begin(), dims.end(), kOpen, std::int64_t{1});
    shape = Shape(std::move(dims));
  }
  return shapes;
}

// Inserts the states between the arrays from files, so that each row follows the order of the
// inputs.
void add_states(const std::vector<std::optional<Shape>>& states, TensorSet& set) {
  for (Row& row : set.rows) {
    Row all;
    std::size_t next = 0;
    for (const std::optional<Shape>& state : states) {
      all.push_back(state ? SampleArray{{}, {}, 1, *state} : std::move(row[next++]));
    }
    row = std::move(all);
  }
}

}  // namespace

TensorSet list_tensors(const fs::path& source, std::vector<InputSpec> inputs, std::int64_t limit,
                       TensorReading reading) {
  if (limit < 0) {
    throw Error(ErrorCode::kUsage,
                to_text("limit of samples: found ", limit, ", expected 0 or more"));
  }
  if (inputs.empty()) throw Error(ErrorCode::kUnsupported, "inputs: the network has none");
  TensorSet set;
  std::error_code ec;
  set.root = fs::is_directory(source, ec) ? source : source.parent_path();
  set.audio = reading.audio;
  set.states = std::move(reading.states);
  const std::vector<std::optional<Shape>> states = state_shapes(inputs, set.states);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!states[i]) set.inputs.push_back(inputs[i]);
  }
  if (set.inputs.empty()) {
    throw Error(ErrorCode::kUsage, "state: every input is one, nothing is left to read");
  }
  Listing(set).add_source(source);
  if (set.entries.empty()) {
    throw Error(ErrorCode::kUsage, to_text("inputs: '", source.string(), "' names no sample"));
  }
  add_states(states, set);
  set.inputs = std::move(inputs);
  if (limit > 0 && set.states.empty()) keep_spread(set.entries, limit);
  if (limit > 0 && std::ssize(set.entries) > limit) {
    set.entries.resize(static_cast<std::size_t>(limit));  // a sequence has no gaps
  }
  return set;
}

std::vector<Tensor> load_tensors(const TensorSet& set, const TensorSet::Entry& entry) {
  std::vector<Tensor> tensors;
  const Row& row = set.rows.at(entry.row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const SampleArray& array = row[i];
    if (array.path.empty()) {
      tensors.emplace_back(set.inputs[i].dtype, array.sample);
      continue;
    }
    ArrayFile file(array.path, kind_of(array.path), array.member, set.inputs[i], set.audio);
    const std::int64_t elements = array.sample.elements();
    if (file.header().shape.elements() != array.count * elements) {
      throw Error(ErrorCode::kMismatch, to_text(what_of(array), ": changed while it was in use"));
    }
    const std::int64_t index = array.count == 1 ? 0 : entry.index;
    tensors.push_back(
        converted(file.read(index * elements, array.sample), set.inputs[i], what_of(array)));
  }
  return tensors;
}

fs::path path_of(const TensorSet& set, const TensorSet::Entry& entry) {
  const Row& row = set.rows.at(entry.row);
  const auto read = std::find_if(row.begin(), row.end(),
                                 [](const SampleArray& array) { return !array.path.empty(); });
  if (read == row.end()) return {};
  const bool several =
      std::any_of(row.begin(), row.end(), [](const auto& array) { return array.count > 1; });
  return several ? fs::path(to_text(read->path.string(), "[", entry.index, "]")) : read->path;
}

std::uint64_t hash_of(const TensorSet& set) {
  std::string text;
  std::vector<std::uint64_t> hashes;  // one per row
  for (const Row& row : set.rows) {
    text.clear();
    for (const SampleArray& array : row) {
      if (array.path.empty()) {
        text += "state\n";
        continue;
      }
      const fs::path relative = array.path.lexically_relative(set.root);
      std::error_code ec;
      const std::uintmax_t size = fs::file_size(array.path, ec);
      text +=
          to_text((relative.empty() ? array.path : relative).generic_string(), "\n", array.member,
                  "\n", ec ? std::int64_t{-1} : static_cast<std::int64_t>(size), "\n");
    }
    hashes.push_back(hash_bytes(text));
  }
  std::vector<std::uint64_t> samples;
  if (set.audio.window > 0 || set.audio.hop > 0) {
    samples.push_back(static_cast<std::uint64_t>(set.audio.window));
    samples.push_back(static_cast<std::uint64_t>(set.audio.hop));
  }
  for (const TensorSet::Entry& entry : set.entries) {
    samples.push_back(hashes.at(entry.row));
    samples.push_back(static_cast<std::uint64_t>(entry.index));
  }
  return hash_bytes(std::as_bytes(std::span(samples)));
}

}  // namespace qtool
