// Our own calibration table: the only format that loses nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/text.h"
#include "calib/formats/image_ids.h"
#include "calib/formats/rewrites.h"
#include "calib/formats/types.h"
#include "image/preprocess_json.h"
#include "json/json.h"
#include "qtool/calib/format.h"
#include "qtool/calib/table.h"

namespace qtool {

FormatInfo format_qtool();

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTableFormat = "qtool calibration table";
constexpr std::string_view kUser = "user";
constexpr std::int64_t kMaxTableCount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxTableAxis = 7;
constexpr double kMaxReal = 1e300;

struct DegenerateName {
  Degenerate value;
  std::string_view name;
};
constexpr std::array kDegenerateNames = {
    DegenerateName{Degenerate::kEmpty, "empty"},
    DegenerateName{Degenerate::kAllZero, "all-zero"},
    DegenerateName{Degenerate::kTooSmall, "too-small"},
};

// -- writing --

Json scheme_to_json(const Scheme& scheme) {
  Json object;
  object["dtype"] = name_of(scheme.dtype);
  object["bits"] = scheme.bits;
  object["symmetric"] = scheme.symmetry == Symmetry::kSymmetric;
  return object;
}

double finite(double value, std::string_view what) {
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::kInvalidTable,
                to_text("table: ", what, " is ", value, ", expected a finite number"));
  }
  return value;
}

Json to_json(const ActivationEntry& entry) {
  const std::string what = to_text("a number of tensor '", entry.tensor, "'");
  for (const float value : {entry.range.min, entry.range.max, entry.affine.scale,
                            entry.observed.min, entry.observed.max}) {
    finite(value, what);
  }
  const std::array channels = {&entry.observed.channel_means, &entry.observed.channel_mins,
                               &entry.observed.channel_maxs};
  for (const std::vector<float>* values : channels) {
    for (const float value : *values) finite(value, what);
  }
  Json object;
  object["tensor"] = entry.tensor;
  object["producer"] = entry.producer;
  object["dtype"] = name_of(entry.dtype);
  object["granularity"] = kPerTensor;
  if (!entry.method.empty()) object["method"] = entry.method;
  object["scale"] = json_number(entry.affine.scale);
  object["zero_point"] = entry.affine.zero_point;
  object["range"] = {json_number(entry.range.min), json_number(entry.range.max)};
  for (const DegenerateName& row : kDegenerateNames) {
    if (row.value == entry.degenerate) object["degenerate"] = row.name;
  }
  if (entry.origin == Origin::kUser) object["origin"] = kUser;
  object["saturated_share"] = finite(entry.saturated_share, what);
  if (entry.sqnr_db) object["sqnr_db"] = finite(*entry.sqnr_db, what);
  Json observed;
  observed["min"] = json_number(entry.observed.min);
  observed["max"] = json_number(entry.observed.max);
  observed["mean"] = finite(entry.observed.mean, what);
  observed["std"] = finite(entry.observed.standard_deviation, what);
  observed["count"] = entry.observed.count;
  observed["zeros"] = entry.observed.zeros;
  observed["channel_means"] = json_numbers(entry.observed.channel_means);
  if (!entry.observed.channel_mins.empty()) {
    observed["channel_mins"] = json_numbers(entry.observed.channel_mins);
    observed["channel_maxs"] = json_numbers(entry.observed.channel_maxs);
  }
  object["observed"] = std::move(observed);
  return object;
}

Json to_json(const WeightEntry& entry) {
  for (const float scale : entry.affines.scales)
    finite(scale, to_text("a scale of '", entry.tensor, "'"));
  Json object;
  object["tensor"] = entry.tensor;
  object["consumer"] = entry.consumer;
  object["granularity"] = entry.affines.axis < 0 ? kPerTensor : kPerChannel;
  if (entry.affines.axis >= 0) object["axis"] = entry.affines.axis;
  if (entry.bits != 8) object["bits"] = entry.bits;
  object["scales"] = json_numbers(entry.affines.scales);
  if (!entry.affines.zero_points.empty()) object["zero_points"] = entry.affines.zero_points;
  if (!entry.reciprocals.empty()) object["reciprocals"] = json_numbers(entry.reciprocals);
  return object;
}

Json to_json(const Alias& alias) {
  Json object;
  object["name"] = alias.name;
  object["tensor"] = alias.tensor;
  return object;
}

// Writes one entry per line. This is readable, and a change of one tensor changes only one line.
template <typename Entry>
void append_entries(std::string& out, std::string_view key, const std::vector<Entry>& entries) {
  out += to_text(",\n  \"", key, "\": [");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out += to_text(i == 0 ? "\n    " : ",\n    ", to_json(entries[i]).dump());
  }
  out += entries.empty() ? "]" : "\n  ]";
}

// -- reading --

DType dtype_of(const JsonField& field) {
  const std::string name = field.as_string();
  if (name == name_of(DType::kUInt8)) return DType::kUInt8;
  if (name == name_of(DType::kInt8)) return DType::kInt8;
  field.fail("'uint8' or 'int8'");
}

Scheme scheme_of(const JsonField& field) {
  field.require_object({"dtype", "bits", "symmetric"});
  Scheme scheme;
  scheme.dtype = dtype_of(field.at("dtype"));
  scheme.bits = static_cast<int>(field.at("bits").as_int(2, 8));
  scheme.symmetry = field.at("symmetric").as_bool() ? Symmetry::kSymmetric : Symmetry::kAsymmetric;
  return scheme;
}

std::string name_in(const JsonField& field) {
  std::string name = field.as_string();
  if (name.empty()) field.fail("a name");
  return name;
}

Degenerate read_degenerate(const JsonField& field) {
  const std::string name = field.as_string();
  for (const DegenerateName& row : kDegenerateNames) {
    if (row.name == name) return row.value;
  }
  field.fail("'empty', 'all-zero' or 'too-small'");
}

Observed read_observed(const JsonField& field) {
  field.require_object({"min", "max", "mean", "std", "count", "zeros", "channel_means",
                        "channel_mins", "channel_maxs"});
  Observed observed;
  observed.min = field.at("min").as_float();
  observed.max = field.at("max").as_float();
  if (observed.min > observed.max) field.at("max").fail("a number not below min");
  observed.mean = field.at("mean").as_double(-kMaxReal, kMaxReal);
  observed.standard_deviation = field.at("std").as_double(0.0, kMaxReal);
  observed.count = field.at("count").as_int(0, kMaxTableCount);
  observed.zeros = field.at("zeros").as_int(0, observed.count);
  observed.channel_means = field.at("channel_means").as_floats();
  const auto optional_floats = [&](std::string_view key) {
    const std::optional<JsonField> values = field.find(key);
    return values ? values->as_floats() : std::vector<float>();
  };
  observed.channel_mins = optional_floats("channel_mins");
  observed.channel_maxs = optional_floats("channel_maxs");
  for (const std::vector<float>* values : {&observed.channel_mins, &observed.channel_maxs}) {
    if (values->size() == observed.channel_mins.size() &&
        (values->empty() || values->size() == observed.channel_means.size())) {
      continue;
    }
    field.fail("as many channel_mins and channel_maxs as channel_means, or none");
  }
  return observed;
}

ActivationEntry read_activation(const JsonField& field) {
  field.require_object({"tensor", "producer", "dtype", "granularity", "method", "scale",
                        "zero_point", "range", "degenerate", "origin", "saturated_share", "sqnr_db",
                        "observed"});
  const JsonField granularity = field.at("granularity");
  if (granularity.as_string() != kPerTensor) granularity.fail("'per-tensor'");
  ActivationEntry entry;
  entry.tensor = name_in(field.at("tensor"));
  entry.producer = field.at("producer").as_string();
  entry.dtype = dtype_of(field.at("dtype"));
  if (const auto method = field.find("method")) entry.method = name_in(*method);
  entry.affine.scale = scale_of(field.at("scale"));
  const bool is_unsigned = entry.dtype == DType::kUInt8;
  entry.affine.zero_point = static_cast<std::int32_t>(
      field.at("zero_point").as_int(is_unsigned ? 0 : -128, is_unsigned ? 255 : 127));
  entry.range = range_of(field.at("range"));
  if (const auto degenerate = field.find("degenerate")) {
    entry.degenerate = read_degenerate(*degenerate);
  }
  if (const auto origin = field.find("origin")) {
    if (origin->as_string() != kUser) origin->fail("'user'");
    entry.origin = Origin::kUser;
  }
  entry.saturated_share = field.at("saturated_share").as_double(0.0, 1.0);
  if (const auto sqnr = field.find("sqnr_db")) {
    entry.sqnr_db = sqnr->as_double(-kMaxReal, kMaxReal);
  }
  entry.observed = read_observed(field.at("observed"));
  return entry;
}

WeightEntry read_weight(const JsonField& field) {
  field.require_object({"tensor", "consumer", "granularity", "axis", "bits", "scales",
                        "reciprocals", "zero_points"});
  WeightEntry entry;
  entry.tensor = name_in(field.at("tensor"));
  entry.consumer = field.at("consumer").as_string();
  const JsonField granularity = field.at("granularity");
  const std::string name = granularity.as_string();
  if (name == kPerChannel) {
    entry.affines.axis = field.at("axis").as_int(0, kMaxTableAxis);
  } else if (name != kPerTensor) {
    granularity.fail("'per-tensor' or 'per-channel'");
  }
  entry.affines.scales = field.at("scales").as_floats();
  for (const float scale : entry.affines.scales) {
    if (scale < std::numeric_limits<float>::min()) {
      field.at("scales").fail(to_text("positive, normal float32 numbers, not ", scale));
    }
  }
  if (const auto bits = field.find("bits")) entry.bits = static_cast<int>(bits->as_int(2, 8));
  if (const auto zero_points = field.find("zero_points")) {
    for (const JsonField& point : zero_points->elements()) {
      entry.affines.zero_points.push_back(static_cast<std::int32_t>(point.as_int(-128, 127)));
    }
    if (entry.affines.zero_points.size() != entry.affines.scales.size()) {
      zero_points->fail("as many numbers as scales");
    }
  }
  if (entry.affines.scales.empty() ||
      (entry.affines.axis < 0 && entry.affines.scales.size() != 1)) {
    field.at("scales").fail(entry.affines.axis < 0 ? "one number" : "at least one number");
  }
  if (const auto reciprocals = field.find("reciprocals")) {
    entry.reciprocals = reciprocals->as_floats();
    if (entry.reciprocals.size() != entry.affines.scales.size()) {
      reciprocals->fail(to_text(entry.affines.scales.size(), " numbers"));
    }
    for (const float reciprocal : entry.reciprocals) {
      if (reciprocal < 0.0F) reciprocals->fail("numbers not below 0");
    }
  }
  return entry;
}

Alias alias_of(const JsonField& field) {
  field.require_object({"name", "tensor"});
  return {name_in(field.at("name")), name_in(field.at("tensor"))};
}

template <typename Entry>
std::vector<Entry> entries_of(const JsonField& field, Entry (*read)(const JsonField&)) {
  std::vector<Entry> entries;
  for (const JsonField& element : field.elements()) entries.push_back(read(element));
  return entries;
}

void require_unique_names(const CalibrationTable& table) {
  std::unordered_set<std::string_view> names;
  const auto insert = [&](std::string_view name) {
    if (!names.insert(name).second) {
      throw Error(ErrorCode::kInvalidTable,
                  to_text("table: found the tensor '", name, "' twice, expected one entry each"));
    }
  };
  for (const ActivationEntry& entry : table.activations) insert(entry.tensor);
  for (const Alias& alias : table.aliases) insert(alias.name);
}

}  // namespace

std::string write_table(const CalibrationTable& table) try {
  const auto line = [](std::string_view key, const Json& value) {
    return to_text(",\n  \"", key, "\": ", value.dump());
  };
  std::string out = to_text("{\n  \"format\": \"", kTableFormat, "\"");
  out += line("schema", kTableSchema);
  out += line("model", {{"fingerprint", to_hex(table.model_fingerprint)}});
  out +=
      line("images", {{"count", table.image_count}, {"list_hash", to_hex(table.image_list_hash)}});
  if (!table.image_ids.empty()) out += line("image_ids", image_ids_to_json(table.image_ids));
  if (table.exact_bins > 0) out += line("exact_bins", table.exact_bins);
  if (table.preprocess) out += line("preprocess", preprocess_to_json(*table.preprocess));
  out += line("method", {{"name", table.method},
                         {"bins", table.method_options.bins},
                         {"levels", table.method_options.levels},
                         {"percentile", finite(table.method_options.percentile, "percentile")},
                         {"momentum", finite(table.method_options.momentum, "momentum")},
                         {"scheme", scheme_to_json(table.method_options.scheme)}});
  if (!table.types.empty()) out += line("types", types_to_json(table.types));
  if (!table.rewrites.names.empty()) out += line("rewrites", rewrites_to_json(table.rewrites));
  append_entries(out, "activations", table.activations);
  append_entries(out, "weights", table.weights);
  append_entries(out, "aliases", table.aliases);
  out += "\n}\n";
  return out;
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorCode::kInvalidTable, "table: a name is not UTF-8 and cannot be written");
}

CalibrationTable read_table(std::string_view text) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidTable;
  const nlohmann::json document = parse_json(text, kMaxTableBytes, "table", kCode);
  const JsonField root(document, "table", kCode);
  const JsonField format = root.at("format");
  if (format.as_string() != kTableFormat) format.fail(to_text("'", kTableFormat, "'"));
  // The version is checked first: fields of another version could be misread.
  static_cast<void>(root.at("schema").as_int(kTableSchema, kTableSchema));
  root.require_object({"format", "schema", "model", "images", "image_ids", "exact_bins",
                       "preprocess", "method", "types", "rewrites", "activations", "weights",
                       "aliases"});
  CalibrationTable table;
  const JsonField model = root.at("model");
  model.require_object({"fingerprint"});
  table.model_fingerprint = model.at("fingerprint").as_hex();
  const JsonField images = root.at("images");
  images.require_object({"count", "list_hash"});
  table.image_count = images.at("count").as_int(0, kMaxTableCount);
  table.image_list_hash = images.at("list_hash").as_hex();
  if (const auto ids = root.find("image_ids")) {
    table.image_ids = image_ids_of(*ids, table.image_count);
  }
  if (const auto bins = root.find("exact_bins")) table.exact_bins = bins->as_int(1, kMaxTableCount);
  if (const auto field = root.find("preprocess")) table.preprocess = preprocess_of(*field);
  const JsonField method = root.at("method");
  method.require_object({"name", "bins", "levels", "percentile", "momentum", "scheme"});
  table.method = name_in(method.at("name"));
  table.method_options.bins = method.at("bins").as_int(1, kMaxTableCount);
  table.method_options.levels = method.at("levels").as_int(1, kMaxTableCount);
  table.method_options.percentile = method.at("percentile").as_double(0.0, 100.0);
  table.method_options.momentum = method.at("momentum").as_double(0.0, 1.0);
  table.method_options.scheme = scheme_of(method.at("scheme"));
  if (const auto types = root.find("types")) table.types = types_of(*types);
  if (const auto rewrites = root.find("rewrites")) table.rewrites = rewrites_of(*rewrites);
  table.activations = entries_of(root.at("activations"), read_activation);
  table.weights = entries_of(root.at("weights"), read_weight);
  table.aliases = entries_of(root.at("aliases"), alias_of);
  require_unique_names(table);
  return table;
}

FormatInfo format_qtool() {
  FormatInfo format;
  format.name = "qtool";
  format.summary = "this program's own JSON: the only format that loses nothing";
  format.extensions = {".json"};
  format.carries = {TableContent::kRanges,      TableContent::kTypes,
                    TableContent::kStatistics,  TableContent::kWeightScales,
                    TableContent::kWeightTypes, TableContent::kProvenance,
                    TableContent::kAliases,     TableContent::kRewrites};
  format.recognises = [](std::string_view bytes) {
    constexpr std::size_t kHead = 4096;
    return trim(bytes.substr(0, kHead)).starts_with('{') &&
           bytes.substr(0, kHead).find(kTableFormat) != bytes.npos &&
           bytes.find("\"activation_encodings\"") == bytes.npos;
  };
  format.read = [](std::string_view bytes, const TableReadOptions& /*options*/) {
    return TableReadResult{read_table(bytes), {}};
  };
  format.write = [](const CalibrationTable& table, const TableWriteOptions& /*options*/) {
    return write_table(table);
  };
  return format;
}

}  // namespace qtool
