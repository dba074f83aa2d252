#include "samples/npy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMaxHeaderBytes = 1 << 16;
constexpr std::size_t kMaxRank = 32;  // the limit of NumPy before version 2

// NumPy's names of the element types, without the byte order.
constexpr std::array<std::pair<std::string_view, DType>, 12> kTypes = {{
    {"f4", DType::kFloat32},
    {"f2", DType::kFloat16},
    {"f8", DType::kFloat64},
    {"i1", DType::kInt8},
    {"u1", DType::kUInt8},
    {"i2", DType::kInt16},
    {"u2", DType::kUInt16},
    {"i4", DType::kInt32},
    {"u4", DType::kUInt32},
    {"i8", DType::kInt64},
    {"u8", DType::kUInt64},
    {"b1", DType::kBool},
}};

[[noreturn]] void refuse_array(std::string_view what, std::string_view message,
                               ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, to_text(what, ": ", message));
}

// Parses the text of a header, which is a Python dictionary with three entries:
// {'descr': '<f4', 'fortran_order': False, 'shape': (1, 576), }
class HeaderText {
 public:
  HeaderText(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  ArrayHeader parse() {
    std::optional<std::string_view> descr;
    std::optional<AxisOrder> order;
    std::optional<std::vector<std::int64_t>> dims;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        if (peek() == '[') {
          refuse_array(what_, "holds records, expected numbers", ErrorCode::kUnsupported);
        }
        descr = quoted();
      } else if (key == "fortran_order" && !order) {
        order = truth() ? AxisOrder::kColumnMajor : AxisOrder::kRowMajor;
      } else if (key == "shape" && !dims) {
        dims = extents();
      } else {
        broken();
      }
      if (!accept(',') && peek() != '}') broken();
    }
    if (!trim(text_).empty() || !descr || !order || !dims) broken();
    ArrayHeader header;
    header.dtype = dtype_of_text(*descr);
    header.order = *order;
    try {
      header.shape = Shape(*std::move(dims));
      static_cast<void>(header.shape.elements());
    } catch (const Error& error) {
      refuse_array(what_, error.what());
    }
    return header;
  }

 private:
  [[noreturn]] void broken() const {
    refuse_array(what_,
                 "its header is not that of an .npy file: expected descr, fortran_order and shape");
  }

  void skip_blanks() {
    const std::size_t first = text_.find_first_not_of(" \n");
    text_.remove_prefix(first == std::string_view::npos ? text_.size() : first);
  }
  char peek() {
    skip_blanks();
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string_view take(std::size_t count) {
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') broken();
    text_.remove_prefix(1);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) broken();
    const std::string_view inside = take(end);
    text_.remove_prefix(1);
    return inside;
  }

  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair("True", true), {"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(std::string_view(word).size());
      return value;
    }
    broken();
  }

  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      const std::size_t end = text_.find_first_not_of("0123456789");
      if (end == 0 || end == std::string_view::npos || dims.size() == kMaxRank) broken();
      const std::string_view digits = take(end);
      try {
        dims.push_back(parse_int(digits, "extent"));
      } catch (const Error&) {
        refuse_array(what_,
                     to_text("its header has the extent ", digits, ", more than any array has"));
      }
      if (!accept(',') && peek() != ')') broken();
    }
    return dims;
  }

  [[nodiscard]] DType dtype_of_text(std::string_view descr) const {
    for (const auto& [text, dtype] : kTypes) {
      if (descr.size() != 3 || descr.substr(1) != text) continue;
      if (descr[0] == '<' || (descr[0] == '|' && size_of(dtype) == 1)) return dtype;
      if (descr[0] == '>') {
        refuse_array(what_, "is big-endian, expected little-endian numbers",
                     ErrorCode::kUnsupported);
      }
    }
    refuse_array(what_,
                 to_text("has the element type '", descr, "', expected a number type of ONNX"),
                 ErrorCode::kUnsupported);
  }

  std::string_view text_;
  std::string_view what_;
};

std::string descr_of(DType dtype) {
  const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const auto& candidate) { return candidate.second == dtype; });
  QTOOL_CHECK(row != kTypes.end());
  return to_text(size_of(dtype) == 1 ? '|' : '<', row->first);
}

// The extents as Python writes a tuple: `()`, `(3,)`, `(3, 4)`.
std::string tuple_of(const Shape& shape) {
  std::string text = "(";
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    text += to_text(axis > 0 ? " " : "", shape[axis], axis + 1 < shape.rank() ? "," : "");
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

ArrayHeader read_npy_header(ByteSource& bytes, std::string_view what) {
  std::array<std::byte, 12> head{};
  const auto at = [&](std::size_t i) { return std::to_integer<std::int64_t>(head[i]); };
  constexpr std::int64_t kShort = 10;  // magic, version, a length of 2 bytes
  if (bytes.size() < kShort) refuse_array(what, "is too short for an .npy file");
  bytes.read(0, std::span(head).first(kShort));
  if (std::string_view(reinterpret_cast<const char*>(head.data()), kMagic.size()) != kMagic) {
    refuse_array(what, "is not an .npy file");
  }
  const std::int64_t version = at(6);
  if (version < 1 || version > 3) {
    refuse_array(what, to_text("has version ", version, " of the format, expected 1 to 3"),
                 ErrorCode::kUnsupported);
  }
  std::int64_t begin = kShort;
  std::int64_t length = at(8) + 256 * at(9);
  if (version > 1) {  // a length of 4 bytes
    begin += 2;
    if (bytes.size() < begin) refuse_array(what, "ends in its header");
    bytes.read(0, head);
    length += 65536 * at(10) + 16777216 * at(11);
  }
  if (length > kMaxHeaderBytes || length > bytes.size() - begin) {
    refuse_array(what, "ends in its header");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  bytes.read(begin, std::as_writable_bytes(std::span(text)));
  ArrayHeader header = HeaderText(text, what).parse();
  header.data_offset = begin + length;
  const std::int64_t expected = header.shape.elements() * size_of(header.dtype);
  if (bytes.size() - header.data_offset != expected) {
    refuse_array(what, to_text("has ", bytes.size() - header.data_offset,
                               " bytes of elements, expected ", expected, " for shape ",
                               header.shape.to_string(), " of ", name_of(header.dtype)));
  }
  return header;
}

std::string npy_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBFloat16) return npy_bytes(to_float32(tensor));
  if (tensor.shape().rank() > static_cast<std::int64_t>(kMaxRank)) {
    throw Error(ErrorCode::kUnsupported,
                to_text("a tensor of ", tensor.shape().rank(),
                        " axes cannot be written as .npy, which has at most ", kMaxRank));
  }
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kLead = 10;  // magic, version, a length of 2 bytes
  std::string text =
      to_text("{'descr': '", descr_of(tensor.dtype()),
              "', 'fortran_order': False, 'shape': ", tuple_of(tensor.shape()), ", }");
  const std::size_t begin = (kLead + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(begin - kLead - text.size() - 1, ' ');
  text.push_back('\n');
  std::string bytes;
  bytes.reserve(begin + static_cast<std::size_t>(tensor.bytes()));
  bytes.append(kMagic);
  bytes.append({'\x01', '\x00'});
  bytes.push_back(static_cast<char>(text.size() % 256));
  bytes.push_back(static_cast<char>(text.size() / 256));
  bytes.append(text);
  bytes.append(reinterpret_cast<const char*>(tensor.data()),
               static_cast<std::size_t>(tensor.bytes()));
  return bytes;
}

}  // namespace qtool
