#include "samples/array_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "samples/npz.h"
#include "tensor/convert.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxProtoBytes = std::int64_t{1} << 30;

// A bool of C++ must be 0 or 1, so every other byte becomes 1.
void normalize_bools(Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  auto* bytes = reinterpret_cast<std::uint8_t*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

// Copies an array in column-major (Fortran) order into row-major order.
Tensor row_major(const Tensor& columns, const Shape& shape) {
  Tensor rows(columns.dtype(), shape);
  const std::int64_t size = size_of(columns.dtype());
  for (std::int64_t to = 0; to < rows.elements(); ++to) {
    std::int64_t from = 0;
    std::int64_t stride = rows.elements();  // in `columns`, whose last axis is outermost
    std::int64_t rest = to;
    for (std::int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      stride /= shape[axis];
      from += rest % shape[axis] * stride;
      rest /= shape[axis];
    }
    std::memcpy(rows.data() + to * size, columns.data() + from * size,
                static_cast<std::size_t>(size));
  }
  return rows;
}

std::unique_ptr<ByteSource> find_member(const fs::path& path, const std::string& name) {
  for (const NpzMember& member : npz_members(path)) {
    if (member.name == name) return open_member(path, member);
  }
  throw Error(ErrorCode::kMismatch,
              to_text("file '", path.string(), "': has no array '", name, "'"));
}

// Converts all integers to the type of `to` and writes them there. Returns false if one of them
// does not fit.
bool cast_all(const std::vector<std::int64_t>& from, Tensor& to) {
  bool fit = false;
  with_cast_type(to.dtype(), [&](auto zero) {
    using To = decltype(zero);
    if constexpr (std::is_integral_v<To>) {
      fit = std::all_of(from.begin(), from.end(), [](auto x) { return std::in_range<To>(x); });
      if (fit) std::copy(from.begin(), from.end(), to.values<To>().begin());
    }
  });
  return fit;
}

}  // namespace

std::optional<ArrayKind> array_kind(const fs::path& path) {
  constexpr std::array<std::pair<std::string_view, ArrayKind>, 6> kEndings = {{
      {".npy", ArrayKind::kNpy},
      {".npz", ArrayKind::kNpz},
      {".pb", ArrayKind::kProto},
      {".bin", ArrayKind::kRaw},
      {".raw", ArrayKind::kRaw},
      {".wav", ArrayKind::kWav},
  }};
  const std::string ending = to_lower(path.extension().string());
  const auto* row = std::find_if(kEndings.begin(), kEndings.end(),
                                 [&](const auto& candidate) { return candidate.first == ending; });
  if (row == kEndings.end()) return std::nullopt;
  return row->second;
}

ArrayFile::ArrayFile(const fs::path& path, ArrayKind kind, const std::string& member,
                     const InputSpec& spec, const AudioCut& audio)
    : what_(to_text("file '", path.string(), "'")) {
  switch (kind) {
    case ArrayKind::kNpy:
      bytes_ = std::make_unique<FileBytes>(path);
      header_ = read_npy_header(*bytes_, what_);
      break;
    case ArrayKind::kNpz:
      what_ += to_text(", array '", member, "'");
      bytes_ = find_member(path, member);
      header_ = read_npy_header(*bytes_, what_);
      break;
    case ArrayKind::kProto:
      whole_ = read_tensor_proto(read_file(path, kMaxProtoBytes), what_);
      header_ = {whole_->dtype(), whole_->shape(), AxisOrder::kRowMajor, 0};
      break;
    case ArrayKind::kRaw:
      open_raw(path, spec);
      break;
    case ArrayKind::kWav:
      open_wav(path, spec, audio);
      break;
  }
  if (header_.shape.elements() == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text(what_, ": has the shape ", header_.shape.to_string(),
                        ", expected at least one element"));
  }
}

void ArrayFile::open_raw(const fs::path& path, const InputSpec& spec) {
  bytes_ = std::make_unique<FileBytes>(path);
  header_.dtype = spec.dtype;
  const std::size_t rank = spec.extents ? spec.extents->size() : 0;
  std::vector<std::int64_t> dims(rank, 1);
  bool known = spec.extents.has_value();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::optional<std::int64_t>& extent = (*spec.extents)[axis];
    known = known && (extent || axis == 0);
    dims[axis] = extent.value_or(1);
  }
  if (!known) {
    throw Error(ErrorCode::kMismatch,
                to_text(what_, ": does not say its shape, and input '", spec.name,
                        "' leaves it open (", shape_text(spec), "); use .npy"));
  }
  // If the only axis is open, the whole file is one sample.
  if (rank == 1 && !spec.extents->front()) dims[0] = bytes_->size() / size_of(spec.dtype);
  const std::int64_t one = Shape(dims).elements() * size_of(spec.dtype);
  if (one == 0 || bytes_->size() == 0 || bytes_->size() % one != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text(what_, ": has ", bytes_->size(), " bytes, expected ", one,
                        " for each sample of input '", spec.name, "', ", Shape(dims).to_string(),
                        " of ", name_of(spec.dtype)));
  }
  // The samples lie one after the other.
  std::vector<std::int64_t> all{bytes_->size() / one};
  for (const std::int64_t dim : dims) all.push_back(dim);
  header_.shape = Shape(std::move(all));
}

void ArrayFile::open_wav(const fs::path& path, const InputSpec& spec, const AudioCut& audio) {
  constexpr std::int64_t kMaxWindow = std::int64_t{1} << 28;
  bytes_ = std::make_unique<FileBytes>(path);
  wav_ = read_wav_header(*bytes_, what_);
  header_.dtype = DType::kFloat32;
  if (!spec.extents && audio.window == 0 && audio.hop == 0) {
    cut_ = {wav_->frames, wav_->frames};
    header_.shape = Shape{wav_->frames};
    return;
  }
  const bool one_axis = spec.extents && !spec.extents->empty() &&
                        std::all_of(spec.extents->begin(), spec.extents->end() - 1,
                                    [](const auto& extent) { return extent.value_or(1) == 1; });
  if (!one_axis) {
    throw Error(ErrorCode::kMismatch, to_text(what_, ": holds one row of values, input '",
                                              spec.name, "' takes ", shape_text(spec)));
  }
  const std::optional<std::int64_t> extent = spec.extents->back();
  cut_.window = audio.window > 0 ? audio.window : extent.value_or(wav_->frames);
  cut_.hop = audio.hop > 0 ? audio.hop : cut_.window;
  if (extent.value_or(cut_.window) != cut_.window) {
    throw Error(ErrorCode::kUsage, to_text("window: found ", cut_.window, ", input '", spec.name,
                                           "' takes ", shape_text(spec)));
  }
  if (cut_.hop > cut_.window) {
    throw Error(ErrorCode::kUsage,
                to_text("hop: found ", cut_.hop, ", expected 1 to the window of ", cut_.window));
  }
  if (cut_.window > std::max(kMaxWindow, wav_->frames)) {
    throw Error(ErrorCode::kUsage,
                to_text("window: found ", cut_.window, ", expected at most ", kMaxWindow));
  }
  std::vector<std::int64_t> dims(spec.extents->size() + 1, 1);
  dims.back() = cut_.window;
  dims.front() = cut_.hop > 0 ? (wav_->frames + cut_.hop - 1) / cut_.hop : 0;
  header_.shape = Shape(std::move(dims));
}

Tensor ArrayFile::read(std::int64_t first, const Shape& shape) {
  const std::int64_t elements = shape.elements();
  const std::int64_t all = header_.shape.elements();
  QTOOL_CHECK(first >= 0 && first <= all && elements <= all - first);
  if (wav_) {
    QTOOL_CHECK(elements == cut_.window);
    const std::int64_t begin = first_frame(cut_, first / cut_.window);
    return Tensor::of<float>(
        shape, std::span<const float>(read_frames(*bytes_, *wav_, begin, cut_.window)));
  }
  const auto fill = [this](std::int64_t begin, Tensor& tensor) {
    bytes_->read(header_.data_offset + begin * size_of(header_.dtype),
                 {tensor.data(), static_cast<std::size_t>(tensor.bytes())});
    normalize_bools(tensor);
  };
  if (!whole_ && header_.order == AxisOrder::kColumnMajor) {
    Tensor columns(header_.dtype, header_.shape);
    fill(0, columns);
    whole_ = row_major(columns, header_.shape);
  }
  Tensor tensor(header_.dtype, shape);
  if (whole_) {
    std::memcpy(tensor.data(), whole_->data() + first * size_of(header_.dtype),
                static_cast<std::size_t>(tensor.bytes()));
  } else {
    fill(first, tensor);
  }
  return tensor;
}

Tensor converted(Tensor tensor, const InputSpec& spec, std::string_view what) {
  const DType found = tensor.dtype();
  if (found == spec.dtype) return tensor;
  if (is_float(found) && spec.dtype == DType::kFloat32) return to_float32(tensor);
  const auto is_integer = [](DType dtype) { return !is_float(dtype) && dtype != DType::kBool; };
  if (!is_integer(found) || !is_integer(spec.dtype)) {
    throw Error(ErrorCode::kMismatch, to_text(what, ": holds ", name_of(found), ", input '",
                                              spec.name, "' takes ", name_of(spec.dtype)));
  }
  Tensor result(spec.dtype, tensor.shape());
  if (!cast_all(to_int64s(tensor), result)) {
    throw Error(ErrorCode::kMismatch,
                to_text(what, ": holds ", name_of(found), " values that do not fit ",
                        name_of(spec.dtype), ", the type of input '", spec.name, "'"));
  }
  return result;
}

}  // namespace qtool
