// Saved statistics: a line of JSON, then the states of the tensors as bytes, because a JSON text
// with millions of small counts would be slow to read.
#include "calib/statistics.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

#include "base/text.h"
#include "calib/formats/image_ids.h"
#include "image/preprocess_json.h"
#include "json/json.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/table.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStatisticsFormat = "qtool calibration statistics";
constexpr std::int64_t kSchema = 4;
constexpr std::string_view kVectors = "vectors";
constexpr std::string_view kMaps = "maps";
constexpr std::int64_t kMaxStatisticsCount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxBins = std::int64_t{1} << 20;

// -- the state of a tensor as bytes: integers in groups of seven bits, the lowest first --

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes.push_back(static_cast<char>(value | 0x80U));
    bytes.push_back(static_cast<char>(value));
  }
  void count(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void real(float value) { number(std::bit_cast<std::uint32_t>(value)); }
  template <typename Sum>
  void sum(const Sum& value) {
    for (const std::uint64_t limb : value.limbs()) number(limb);
  }
  /// Writes counts. A run of zeros is written as a zero and the length of the run.
  void counts(std::span<const std::int64_t> values) {
    count(std::ssize(values));
    std::int64_t zeros = 0;
    const auto end_run = [&] {
      if (zeros == 0) return;
      number(0);
      count(zeros);
      zeros = 0;
    };
    for (const std::int64_t value : values) {
      if (value == 0) {
        ++zeros;
        continue;
      }
      end_run();
      count(value);
    }
    end_run();
  }

  std::string bytes;
};

class StatisticsReader {
 public:
  StatisticsReader(std::string_view bytes, const JsonField& field) : bytes_(bytes), field_(field) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) field_.fail("more bytes");
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    field_.fail("integers of at most 64 bits");
  }
  /// Reads a count of at most `most`, which bounds the memory that is allocated for it.
  std::int64_t count(std::int64_t most) {
    const std::uint64_t value = number();
    if (value > static_cast<std::uint64_t>(most)) field_.fail(to_text("a count up to ", most));
    return static_cast<std::int64_t>(value);
  }
  /// Reads a count of items that take at least `bytes` bytes each in the rest of the input.
  std::int64_t count_of(std::int64_t bytes) {
    return count(static_cast<std::int64_t>(bytes_.size() - at_) / bytes);
  }
  float real() {
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(count(std::numeric_limits<std::uint32_t>::max())));
  }
  template <typename Sum>
  Sum sum() {
    auto limbs = Sum().limbs();
    for (std::uint64_t& limb : limbs) limb = number();
    return Sum::from_limbs(limbs);
  }
  std::vector<std::int64_t> counts(std::int64_t most) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count(most)));
    for (std::size_t i = 0; i < values.size();) {
      const std::int64_t value = count(kMaxStatisticsCount);
      if (value == 0) {
        const auto run = static_cast<std::size_t>(count(kMaxStatisticsCount));
        if (run == 0 || run > values.size() - i) field_.fail("a run of zeros that fits");
        i += run;
      } else {
        values[i++] = value;
      }
    }
    return values;
  }
  void require_end() const {
    if (at_ != bytes_.size()) field_.fail(to_text(at_, " bytes"));
  }

 private:
  std::string_view bytes_;
  const JsonField& field_;
  std::size_t at_ = 0;
};

std::string bytes_of(const Statistics& statistics) {
  const StatisticsState state = statistics.state();
  Writer out;
  out.count(state.images);
  out.count(state.count);
  out.count(state.zeros);
  out.sum(state.squares);
  out.count(static_cast<std::int64_t>(state.channels.size()));
  for (const StatisticsState::Channel& channel : state.channels) {
    out.sum(channel.sum);
    out.real(channel.min);
    out.real(channel.max);
  }
  out.count(static_cast<std::int64_t>(state.extremes.size()));
  for (const ImageExtremes& image : state.extremes) {
    out.count(image.image);
    out.real(image.min);
    out.real(image.max);
  }
  const FloatHistogram& histogram = state.histogram;
  out.real(histogram.min());
  out.real(histogram.max());
  out.count(histogram.zeros());
  out.counts(histogram.cells());
  out.number(state.exact_magnitudes ? 1 : 0);
  if (state.exact_magnitudes) out.counts(state.exact_magnitudes->counts);
  return std::move(out.bytes);
}

Statistics statistics_of(std::string_view bytes, const JsonField& field) {
  StatisticsReader in(bytes, field);
  StatisticsState state;
  state.images = in.count(kMaxStatisticsCount);
  state.count = in.count(kMaxStatisticsCount);
  state.zeros = in.count(kMaxStatisticsCount);
  state.squares = in.sum<ExactSquareSum>();
  state.channels.resize(static_cast<std::size_t>(in.count_of(8)));
  for (StatisticsState::Channel& channel : state.channels) {
    channel.sum = in.sum<ExactSum>();
    channel.min = in.real();
    channel.max = in.real();
  }
  state.extremes.resize(static_cast<std::size_t>(in.count_of(3)));
  for (ImageExtremes& image : state.extremes) {
    image.image = in.count(kMaxStatisticsCount);
    image.min = in.real();
    image.max = in.real();
  }
  const float min = in.real();
  const float max = in.real();
  const std::int64_t zeros = in.count(kMaxStatisticsCount);
  const std::vector<std::int64_t> cells = in.counts(2 * FloatHistogram::kCells);
  state.histogram = FloatHistogram::from_cells(min, max, zeros, cells);
  if (in.count(1) == 1) {
    state.exact_magnitudes = LinearHistogram{0.0, state.histogram.absmax(), in.counts(kMaxBins)};
  }
  in.require_end();
  return Statistics::from_state(std::move(state));
}

}  // namespace

std::string write_collection(const Collection& collection) try {
  Json document;
  document["format"] = kStatisticsFormat;
  document["schema"] = kSchema;
  document["model"] = {{"fingerprint", to_hex(collection.model_fingerprint)},
                       {"path", collection.model_path}};
  document["table"] = to_hex(collection.table_hash);
  document["images"] = {{"count", collection.image_count},
                        {"list_hash", to_hex(collection.image_list_hash)}};
  if (!collection.image_ids.empty()) {
    document["image_ids"] = image_ids_to_json(collection.image_ids);
  }
  document["outputs"] = collection.outputs == Outputs::kMaps ? kMaps : kVectors;
  document["exact_bins"] = collection.exact_bins;
  if (collection.preprocess) {
    document["preprocess"] = preprocess_to_json(*collection.preprocess);
  }
  Json tensors = Json::array();
  std::string states;
  for (const TensorStatistics& tensor : collection.tensors) {
    const std::string state = bytes_of(tensor.statistics);
    tensors.push_back(
        {{"tensor", tensor.tensor}, {"producer", tensor.producer}, {"bytes", state.size()}});
    states += state;
  }
  document["tensors"] = std::move(tensors);
  return to_text(document.dump(), "\n", states);
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorCode::kInvalidTable, "statistics: a name is not UTF-8 and cannot be written");
}

Collection read_collection(std::string_view bytes) try {
  constexpr ErrorCode kCode = ErrorCode::kInvalidTable;
  if (static_cast<std::int64_t>(bytes.size()) > kMaxStatisticsBytes) {
    throw Error(kCode, to_text("statistics: found ", bytes.size(), " bytes, expected at most ",
                               kMaxStatisticsBytes));
  }
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const nlohmann::json document =
      parse_json(bytes.substr(0, line), kMaxTableBytes, "statistics", kCode);
  std::string_view states = bytes.substr(std::min(line + 1, bytes.size()));
  const JsonField root(document, "statistics", kCode);
  const JsonField format = root.at("format");
  if (format.as_string() != kStatisticsFormat) format.fail(to_text("'", kStatisticsFormat, "'"));
  const std::int64_t schema = root.at("schema").as_int(0, kMaxStatisticsCount);
  if (schema != kSchema) {
    throw Error(kCode, to_text("statistics: found schema ", schema, ", expected ", kSchema,
                               "; calibrate again with --save-statistics"));
  }
  root.require_object({"format", "schema", "model", "table", "images", "image_ids", "outputs",
                       "exact_bins", "preprocess", "tensors"});
  Collection collection;
  collection.model_fingerprint = root.at("model").at("fingerprint").as_hex();
  collection.model_path = root.at("model").at("path").as_string();
  collection.table_hash = root.at("table").as_hex();
  collection.image_count = root.at("images").at("count").as_int(0, kMaxStatisticsCount);
  collection.image_list_hash = root.at("images").at("list_hash").as_hex();
  if (const auto ids = root.find("image_ids")) {
    collection.image_ids = image_ids_of(*ids, collection.image_count);
  }
  const JsonField outputs = root.at("outputs");
  if (outputs.as_string() == kMaps) {
    collection.outputs = Outputs::kMaps;
  } else if (outputs.as_string() != kVectors) {
    outputs.fail(to_text("'", kVectors, "' or '", kMaps, "'"));
  }
  collection.exact_bins = root.at("exact_bins").as_int(0, kMaxBins);
  if (const auto field = root.find("preprocess")) collection.preprocess = preprocess_of(*field);
  for (const JsonField& field : root.at("tensors").elements()) {
    field.require_object({"tensor", "producer", "bytes"});
    const auto size = static_cast<std::size_t>(
        field.at("bytes").as_int(0, static_cast<std::int64_t>(states.size())));
    collection.tensors.push_back({field.at("tensor").as_string(), field.at("producer").as_string(),
                                  statistics_of(states.substr(0, size), field)});
    states.remove_prefix(size);
  }
  if (!states.empty()) {
    throw Error(kCode,
                to_text("statistics: found ", states.size(), " bytes behind the last tensor"));
  }
  return collection;
} catch (const Error& error) {
  if (error.code() == ErrorCode::kInvalidTable) throw;
  throw Error(ErrorCode::kInvalidTable, error.what());  // the histogram contradicts its totals
}

}  // namespace qtool
