#include "graph/onnx/data_file.h"

#include <cstddef>
#include <utility>

#include "base/round_up.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

constexpr std::int64_t kPage = 4096;

void add_entry(onnx::TensorProto& tensor, const char* key, std::string value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(std::move(value));
}

}  // namespace

std::int64_t DataLayout::place(std::int64_t bytes) {
  const std::int64_t at = ceil_div(size_, kPage) * kPage;
  size_ = at + bytes;
  return at;
}

void DataFile::take(onnx::TensorProto& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.raw_data().size());
  if (bytes < kMinDataBytes) return;
  const std::int64_t at = layout_.place(bytes);
  bytes_.resize(static_cast<std::size_t>(at));
  bytes_ += tensor.raw_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  add_entry(tensor, "location", name_);
  add_entry(tensor, "offset", std::to_string(at));
  add_entry(tensor, "length", std::to_string(bytes));
}

}  // namespace qtool
