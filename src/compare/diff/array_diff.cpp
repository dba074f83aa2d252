#include "compare/diff/array_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"
#include "base/folder.h"
#include "base/path_inside.h"
#include "base/stop.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "json/json.h"
#include "qtool/base/error.h"
#include "samples/array_file.h"
#include "samples/npz.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxIndexBytes = std::int64_t{1} << 28;

/// An array in a file. `name` and `kind` together identify the other array to compare it with.
struct Source {
  std::string name;
  std::string kind;
  fs::path path;
  std::string member;  // name in an .npz archive
};

std::string source_key(const Source& source) { return to_text(source.name, "\n", source.kind); }

std::string title_of(const Source& source) {
  return source.kind.empty() ? source.name : to_text(source.name, " (", source.kind, ")");
}

std::vector<Source> sources_of_file(const fs::path& path) {
  if (array_kind(path) != ArrayKind::kNpz) return {{path.filename().string(), "", path, ""}};
  std::vector<Source> sources;
  for (const NpzMember& member : npz_members(path)) {
    sources.push_back({member.name, "", path, member.name});
  }
  return sources;
}

std::vector<Source> sources_by_file_name(const fs::path& folder) {
  std::vector<Source> sources;
  for (const fs::directory_entry& entry : list_folder(folder)) {
    if (!entry.is_regular_file() || !holds_arrays(entry.path())) continue;
    sources.push_back({entry.path().filename().string(), "", entry.path(), ""});
  }
  return sources;
}

std::vector<Source> sources_of_dump(const fs::path& folder) {
  const fs::path index = folder / kDumpIndex;
  const std::string what = to_text("file '", index.string(), "'");
  const nlohmann::json json = parse_json(read_file(index, kMaxIndexBytes), kMaxIndexBytes, what,
                                         ErrorCode::kInvalidArgument);
  const JsonField root(json, what, ErrorCode::kInvalidArgument);
  std::vector<Source> sources;
  for (const JsonField& tensor : root.at("tensors").elements()) {
    for (const char* kind : {"fp32", "int8", "integers"}) {
      const std::optional<JsonField> file = tensor.find(kind);
      if (!file) continue;
      const fs::path path = resolve_inside(folder, file->at("file").as_string());
      if (!holds_arrays(path)) file->at("file").fail("a file of arrays, such as .npy");
      sources.push_back({tensor.at("name").as_string(), kind, path, ""});
    }
  }
  return sources;
}

Tensor load(const Source& source) {
  // A raw file holds float32 numbers without a shape, so it is read as one axis.
  const InputSpec raw{"", DType::kFloat32, std::vector<std::optional<std::int64_t>>{std::nullopt}};
  ArrayFile file(source.path, array_kind(source.path).value(), source.member, raw);
  Tensor tensor = file.read(0, file.header().shape);
  if (array_kind(source.path) != ArrayKind::kRaw) return tensor;
  const Shape row{tensor.elements()};
  return std::move(tensor).reshaped(row);
}

double mean(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value);
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

}  // namespace

ArrayDiff diff_of(const Tensor& a, const Tensor& b) {
  // load() reads a raw file as one axis.
  const bool flat = a.shape().rank() == 1 || b.shape().rank() == 1;
  if (a.shape() != b.shape() && !(flat && a.elements() == b.elements())) {
    throw Error(ErrorCode::kMismatch, to_text("shape ", a.shape().to_string(), " in A, ",
                                              b.shape().to_string(), " in B"));
  }
  ArrayDiff diff;
  diff.shape = a.shape().rank() >= b.shape().rank() ? a.shape() : b.shape();
  diff.dtype_a = a.dtype();
  diff.dtype_b = b.dtype();
  const Tensor floats_a = to_float32(a);
  const Tensor floats_b = to_float32(b);
  const std::span<const float> x = floats_a.values<float>();
  const std::span<const float> y = floats_b.values<float>();
  diff.sqnr_db = sqnr_db(x, y);
  diff.cosine = cosine(x, y);
  diff.max_abs_error = max_abs_error(x, y);
  diff.mean_a = mean(x);
  diff.mean_b = mean(y);
  // float32 cannot hold every wide integer and double, so equal types are compared unconverted.
  const bool one_type = a.dtype() == b.dtype();
  const auto size = static_cast<std::size_t>(size_of(a.dtype()));
  const auto equal_at = [&](std::size_t i) {
    if (one_type && std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0) return true;
    if (one_type && !is_float(a.dtype())) return false;
    if (one_type && a.dtype() == DType::kFloat64) {
      return a.values<double>()[i] == b.values<double>()[i];
    }
    return x[i] == y[i];
  };
  double largest = -1.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (equal_at(i)) {
      ++diff.equal;
      continue;
    }
    const auto at = static_cast<std::int64_t>(i);
    if (!diff.first_mismatch) diff.first_mismatch = at;
    const double apart = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    const double error = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
    if (error <= largest) continue;
    largest = error;
    diff.worst = at;
    diff.value_a = static_cast<double>(x[i]);
    diff.value_b = static_cast<double>(y[i]);
  }
  return diff;
}

bool ArrayLimits::accept(const ArrayDiff& diff) const noexcept {
  return !(min_sqnr_db && diff.sqnr_db < *min_sqnr_db) &&
         !(max_abs_error && diff.max_abs_error > *max_abs_error);
}

const ArrayDiff* ArraysDiff::first_beyond(const ArrayLimits& limits) const noexcept {
  const auto found = std::find_if(both.begin(), both.end(),
                                  [&](const ArrayDiff& diff) { return !limits.accept(diff); });
  return found == both.end() ? nullptr : &*found;
}

bool ArraysDiff::within(const ArrayLimits& limits) const noexcept {
  return only_a.empty() && only_b.empty() && not_compared.empty() &&
         first_beyond(limits) == nullptr;
}

bool holds_arrays(const fs::path& path) { return array_kind(path).has_value(); }

ArraysDiff diff_arrays(const fs::path& a, const fs::path& b, const Progress& progress) {
  const bool folder = fs::is_directory(a);
  if (folder != fs::is_directory(b)) {
    throw Error(ErrorCode::kUsage, to_text("'", (folder ? a : b).string(), "' is a folder, '",
                                           (folder ? b : a).string(), "' is not"));
  }
  const bool dumps = folder && fs::exists(a / kDumpIndex) && fs::exists(b / kDumpIndex);
  const auto sources_of = [&](const fs::path& path) {
    return !folder ? sources_of_file(path)
           : dumps ? sources_of_dump(path)
                   : sources_by_file_name(path);
  };
  const std::vector<Source> of_a = sources_of(a);
  std::vector<Source> of_b = sources_of(b);
  // If both files hold one array, these two are compared, whatever their names.
  if (!folder && of_a.size() == 1 && of_b.size() == 1) of_b[0].name = of_a[0].name;
  std::unordered_map<std::string, const Source*> by_key;
  for (const Source& source : of_b) by_key.try_emplace(source_key(source), &source);
  ArraysDiff diff;
  std::unordered_set<const Source*> met;
  std::int64_t done = 0;
  for (const Source& source : of_a) {
    report_progress(progress, done++, std::ssize(of_a), "comparison", "arrays");
    const auto other = by_key.find(source_key(source));
    if (other == by_key.end()) {
      diff.only_a.push_back(title_of(source));
      continue;
    }
    met.insert(other->second);
    try {
      diff.both.push_back(diff_of(load(source), load(*other->second)));
      diff.both.back().name = source.name;
      diff.both.back().kind = source.kind;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMismatch) throw;
      diff.not_compared.push_back(to_text(title_of(source), ": ", error.what()));
    }
  }
  report_progress(progress, done, std::ssize(of_a), "comparison", "arrays");
  for (const Source& source : of_b) {
    if (!met.contains(&source)) diff.only_b.push_back(title_of(source));
  }
  if (met.empty()) {
    throw Error(ErrorCode::kMismatch, to_text("'", a.string(), "' and '", b.string(),
                                              "' have no arrays of one name: ", of_a.size(),
                                              " in the first, ", of_b.size(), " in the second"));
  }
  return diff;
}

}  // namespace qtool
