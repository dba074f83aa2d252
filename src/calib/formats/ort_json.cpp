// ONNX Runtime's calibration.json: a range per tensor.
#include "base/text.h"
#include "calib/formats/rows.h"
#include "json/json.h"

namespace qtool {

FormatInfo format_ort_json();

namespace {

constexpr std::string_view kOrtJsonWhat = "ONNX Runtime ranges";
constexpr std::string_view kClass = "CLS";
constexpr Scheme kScheme{DType::kUInt8, 8, Symmetry::kAsymmetric};

bool recognises_ort_json(std::string_view bytes) {
  return trim(bytes.substr(0, 4096)).starts_with('{') &&
         bytes.find("\"activation_encodings\"") == bytes.npos &&
         bytes.substr(0, 4096).find("qtool calibration table") == bytes.npos;
}

// A number, or a numpy array with one number: {"data": 1.5, "dtype": ..., "CLS": "numpy.array"}.
float scalar_of(const JsonField& field) {
  const auto data = field.is_object() ? field.find("data") : std::nullopt;
  const JsonField& number = data ? *data : field;
  if (!number.is_array()) return number.as_float();
  const std::vector<float> values = number.as_floats();
  if (values.size() != 1) number.fail("one number: per-channel ranges are not supported");
  return values[0];
}

Range range_in(const JsonField& field) {
  Range range;
  if (field.is_object()) {
    range = {scalar_of(field.at("lowest")), scalar_of(field.at("highest"))};
  } else {
    const std::vector<JsonField> ends = field.elements();
    if (ends.size() != 2) field.fail("[lowest, highest], or an object with both");
    range = {scalar_of(ends[0]), scalar_of(ends[1])};
  }
  if (range.min > range.max) field.fail("a lowest value not above the highest");
  return {std::min(range.min, 0.0F), std::max(range.max, 0.0F)};
}

TableReadResult read_ort_json(std::string_view bytes, const TableReadOptions& /*options*/) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidTable;
  const nlohmann::json document = parse_json(bytes, kMaxTableBytes, kOrtJsonWhat, kCode);
  const JsonField root(document, std::string(kOrtJsonWhat), kCode);
  // A whole TensorsData object has its tensors under "data".
  const auto whole = root.find(kClass);
  const JsonField tensors = whole && whole->is_string() ? root.at("data") : root;
  TableReadResult result;
  result.table = foreign_table("ort_json");
  result.table.method_options.scheme = kScheme;
  ActivationList list(result);
  for (const auto& [name, field] : tensors.members()) {
    if (name.empty() || name.size() > kMaxNameBytes) field.fail("a tensor with a name");
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = range_in(field);
    entry.affine = choose_affine(entry.range, kScheme);
    if (entry.range == Range{}) entry.degenerate = Degenerate::kAllZero;
    list.add(std::move(entry));
  }
  return result;
}

std::string write_ort_json(const CalibrationTable& table,
                           const TableWriteOptions& /*options*/) try {
  require_eight_bits(table, kOrtJsonWhat);
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  for (const ActivationEntry& entry : table.activations) {
    nlohmann::ordered_json range;
    range[kClass] = "TensorData";
    range["lowest"] = json_number(entry.range.min);
    range["highest"] = json_number(entry.range.max);
    document[entry.tensor] = std::move(range);
  }
  return document.dump(1) + "\n";
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorCode::kInvalidTable, "table: a name is not UTF-8 and cannot be written");
}

}  // namespace

FormatInfo format_ort_json() {
  FormatInfo format;
  format.name = "ort_json";
  format.summary = "ONNX Runtime's calibration.json: the range of each tensor";
  format.extensions = {".json"};
  format.carries = {TableContent::kRanges};
  format.recognises = recognises_ort_json;
  format.read = read_ort_json;
  format.write = write_ort_json;
  return format;
}

}  // namespace qtool
