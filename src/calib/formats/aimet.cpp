// AIMET encodings 0.4.0: the range, scale and offset of quantized activations and parameters, per
// tensor or per channel. real = scale * (q + offset), q from 0 to 2^bits - 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "calib/formats/rows.h"
#include "json/json.h"

namespace qtool {

FormatInfo format_aimet();

namespace {

constexpr std::string_view kAimetWhat = "AIMET encodings";
constexpr std::string_view kVersion = "0.4.0";
// Later versions of the same form add "quantizer_args" and "dtype".
constexpr std::array<std::string_view, 3> kReadVersions = {"0.4.0", "0.5.0", "0.6.1"};
constexpr std::int64_t kHalf = 128;  ///< index of the integer 0 in s8
constexpr std::int64_t kMaxBits = 32;

bool recognises_aimet(std::string_view bytes) {
  return trim(bytes.substr(0, 4096)).starts_with('{') &&
         bytes.find("\"activation_encodings\"") != bytes.npos;
}

struct Encoding {
  std::int64_t bits = 8;
  bool symmetric = false;
  Range range;
  std::int64_t offset = 0;
  float scale = 1.0F;
};

// Older versions write Python's str(bool); newer versions write a JSON boolean.
bool truth_of(const JsonField& field) {
  if (field.is_boolean()) return field.as_bool();
  const std::string text = field.as_string();
  if (text != "True" && text != "False") field.fail("\"True\" or \"False\"");
  return text == "True";
}

Encoding encoding_of(const JsonField& field) {
  field.require_object({"bitwidth", "dtype", "is_symmetric", "max", "min", "offset", "scale"});
  if (const auto dtype = field.find("dtype"); dtype && dtype->as_string() != "int") {
    dtype->fail("'int'");
  }
  Encoding encoding;
  encoding.bits = field.at("bitwidth").as_int(1, kMaxBits);
  encoding.symmetric = truth_of(field.at("is_symmetric"));
  encoding.range = {field.at("min").as_float(), field.at("max").as_float()};
  if (encoding.range.min > encoding.range.max) field.at("max").fail("a number not below min");
  encoding.range = {std::min(encoding.range.min, 0.0F), std::max(encoding.range.max, 0.0F)};
  // -2^31 occurs for a bias of 32 bits.
  encoding.offset = field.at("offset").as_int(-(std::int64_t{1} << 31), 0);
  encoding.scale = field.at("scale").as_float();
  if (encoding.scale < std::numeric_limits<float>::min()) {
    field.at("scale").fail("a positive, normal float32");
  }
  return encoding;
}

std::vector<Encoding> encodings_of(const JsonField& field) {
  std::vector<Encoding> encodings;
  for (const JsonField& element : field.elements()) encodings.push_back(encoding_of(element));
  if (encodings.empty()) field.fail("at least one encoding");
  return encodings;
}

ActivationEntry encoded_activation(const std::string& name, const JsonField& field) {
  const std::vector<Encoding> encodings = encodings_of(field);
  if (encodings.size() != 1) field.fail("one encoding: activations have one scale");
  const Encoding& encoding = encodings[0];
  if (encoding.bits != 8) field.fail(to_text("8 bits, not ", encoding.bits));
  ActivationEntry entry;
  entry.tensor = name;
  entry.range = encoding.range;
  entry.affine.scale = encoding.scale;
  if (encoding.symmetric) {
    // -127 is the strict form, which does not use the lowest integer. In both forms zero is in the
    // middle.
    if (encoding.offset != -kHalf && encoding.offset != -kHalf + 1) {
      field.fail("the offset -128 or -127, since it is symmetric");
    }
    entry.dtype = DType::kInt8;
  } else {
    if (encoding.offset < -255) field.fail("an offset from -255 to 0");
    entry.affine.zero_point = static_cast<std::int32_t>(-encoding.offset);
  }
  if (entry.range == Range{}) entry.degenerate = Degenerate::kAllZero;
  return entry;
}

void read_parameter(const std::string& name, const JsonField& field, const LayerNames& names,
                    TableReadResult& result) {
  const std::vector<Encoding> encodings = encodings_of(field);
  const auto drop = [&](std::string_view why) {
    result.notes.push_back(to_text("parameter '", name, "' is left out: ", why));
  };
  WeightEntry entry;
  entry.tensor = name;
  for (const Encoding& encoding : encodings) {
    if (encoding.bits != encodings[0].bits) field.fail("the same bitwidth for every channel");
    if (!encoding.symmetric && encoding.offset != -kHalf && encoding.offset != -kHalf + 1) {
      return drop("it is asymmetric");
    }
    entry.affines.scales.push_back(encoding.scale);
  }
  if (encodings[0].bits != 8) return drop(to_text("it has ", encodings[0].bits, " bits"));
  const auto row = std::find_if(names.begin(), names.end(),
                                [&](const LayerName& layer) { return layer.weight == name; });
  if (row != names.end()) entry.consumer = row->layer;
  if (encodings.size() > 1) entry.affines.axis = row != names.end() ? row->axis : 0;
  result.table.weights.push_back(std::move(entry));
}

TableReadResult read_aimet(std::string_view bytes, const TableReadOptions& options) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidTable;
  const nlohmann::json document = parse_json(bytes, kMaxTableBytes, kAimetWhat, kCode);
  const JsonField root(document, std::string(kAimetWhat), kCode);
  const JsonField version = root.at("version");
  if (std::find(kReadVersions.begin(), kReadVersions.end(), version.as_string()) ==
      kReadVersions.end()) {
    version.fail("version 0.4.0, 0.5.0 or 0.6.1");
  }
  root.require_object({"version", "activation_encodings", "param_encodings", "quantizer_args"});
  TableReadResult result;
  result.table = foreign_table("aimet");
  ActivationList list(result);
  for (const auto& [name, field] : root.at("activation_encodings").members()) {
    if (name.empty() || name.size() > kMaxNameBytes) field.fail("a tensor with a name");
    list.add(encoded_activation(name, field));
  }
  for (const auto& [name, field] : root.at("param_encodings").members()) {
    if (name.empty() || name.size() > kMaxNameBytes) field.fail("a parameter with a name");
    read_parameter(name, field, options.names, result);
  }
  return result;
}

// One end of the range: the end in the table if it equals the value that the integers represent, up
// to rounding; otherwise that value.
nlohmann::ordered_json end_of_range(float end, float scale, std::int64_t steps) {
  const float exact = scale * static_cast<float>(steps);
  return json_number(std::abs(end - exact) <= 1e-3F * scale ? end : exact);
}

nlohmann::ordered_json encoding(float scale, std::int64_t offset, Symmetry symmetry, Range range) {
  const bool symmetric = symmetry == Symmetry::kSymmetric;
  // The strict form does not use the lowest integer.
  const std::int64_t top = symmetric && offset == -kHalf + 1 ? 254 : 255;
  nlohmann::ordered_json object;
  object["bitwidth"] = 8;
  object["is_symmetric"] = symmetric ? "True" : "False";
  object["max"] = end_of_range(range.max, scale, top + offset);
  object["min"] = end_of_range(range.min, scale, offset);
  object["offset"] = offset;
  object["scale"] = json_number(scale);
  return object;
}

nlohmann::ordered_json encoding_of(const ActivationEntry& entry) {
  const float scale = entry.affine.scale;
  if (entry.dtype == DType::kUInt8 || entry.affine.zero_point != 0) {
    const std::int64_t zero = entry.affine.zero_point + (entry.dtype == DType::kInt8 ? kHalf : 0);
    return encoding(scale, -zero, Symmetry::kAsymmetric, entry.range);
  }
  const bool strict = std::lround(entry.range.min / scale) == -kHalf + 1;
  return encoding(scale, strict ? -kHalf + 1 : -kHalf, Symmetry::kSymmetric, entry.range);
}

std::string write_aimet(const CalibrationTable& table, const TableWriteOptions& /*options*/) try {
  require_eight_bits(table, kAimetWhat);
  nlohmann::ordered_json document;
  document["version"] = kVersion;
  document["activation_encodings"] = nlohmann::ordered_json::object();
  document["param_encodings"] = nlohmann::ordered_json::object();
  for (const ActivationEntry& entry : table.activations) {
    auto& encodings = document["activation_encodings"][entry.tensor];
    encodings = nlohmann::ordered_json::array();
    encodings.push_back(encoding_of(entry));
  }
  for (const WeightEntry& entry : table.weights) {
    if (entry.bits != 8 || !entry.affines.zero_points.empty())
      continue;  // the reader refuses such entries
    nlohmann::ordered_json channels = nlohmann::ordered_json::array();
    for (const float scale : entry.affines.scales) {
      channels.push_back(encoding(scale, -kHalf, Symmetry::kSymmetric, {}));
    }
    document["param_encodings"][entry.tensor] = std::move(channels);
  }
  return document.dump(2) + "\n";
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorCode::kInvalidTable, "table: a name is not UTF-8 and cannot be written");
}

}  // namespace

FormatInfo format_aimet() {
  FormatInfo format;
  format.name = "aimet";
  format.summary = "AIMET encodings 0.4.0: scale and offset of activations and weights";
  format.extensions = {".encodings", ".json"};
  format.carries = {TableContent::kRanges, TableContent::kTypes, TableContent::kWeightScales};
  format.reads_layers = true;
  format.recognises = recognises_aimet;
  format.read = read_aimet;
  format.write = write_aimet;
  return format;
}

}  // namespace qtool
