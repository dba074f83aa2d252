// ncnn's .table: reciprocal scales of weights (`layer_param_N`) and of layers' inputs (`layer`).
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "calib/formats/rows.h"

namespace qtool {

FormatInfo format_ncnn();

namespace {

constexpr std::string_view kNcnnWhat = "ncnn table";
constexpr std::string_view kParam = "_param_";
constexpr std::size_t kMaxKeyBytes = 255;
constexpr int kNcnnDecimals = 6;
constexpr float kNcnnLevels = 127.0F;
constexpr std::string_view kMethod = "ncnn";
/// Method name of a table whose activations have the names of layers, because no name map was
/// given.
constexpr std::string_view kMethodByLayer = "ncnn, by layer";

bool recognises_ncnn(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    const auto words = words_of(line);
    if (words.empty()) return false;
    if (words[0].starts_with('#')) {
      if (words[0].find(kParam) != line.npos) return true;
      continue;
    }
    if (words.size() < 2 || !std::all_of(words.begin() + 1, words.end(), is_number)) return false;
    // In other tools, rows with one number do not end with a blank.
    return words[0].find(kParam) != line.npos || (words.size() == 2 && trim(line) != line);
  }
  return false;
}

float reciprocal_of(const TextRow& row, std::string_view word) {
  const auto value = static_cast<float>(number_in_row(row, kNcnnWhat, word));
  if (!(value > 0.0F)) fail_row(row, kNcnnWhat, word, "a number above 0");
  return value;
}

/// Whether the reciprocal gives a normal scale. Infinity stands for an all-zero channel or tensor.
/// A reciprocal that gives no normal scale is treated in the same way.
bool is_usable(float reciprocal) {
  return std::isfinite(reciprocal) && 1.0F / reciprocal >= std::numeric_limits<float>::min();
}

WeightEntry weight_of(const TextRow& row, const std::string& key,
                      const std::vector<std::string_view>& words) {
  WeightEntry entry;
  entry.tensor = key;
  entry.consumer = key.substr(0, key.find(kParam));
  entry.affines.axis = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const float reciprocal = reciprocal_of(row, words[i]);
    const bool usable = is_usable(reciprocal);
    entry.affines.scales.push_back(usable ? 1.0F / reciprocal : 1.0F);
    entry.reciprocals.push_back(usable ? reciprocal : 0.0F);
  }
  if (entry.affines.scales.size() == 1) entry.affines.axis = -1;
  return entry;
}

ActivationEntry activation_of(std::string tensor, float reciprocal) {
  const bool usable = is_usable(reciprocal);
  ActivationEntry entry = entry_of_scale(std::move(tensor), usable ? 1.0F / reciprocal : 0.0F);
  // ncnn divided 127 by the threshold, so this division gives the threshold.
  if (usable) entry.range = {-kNcnnLevels / reciprocal, kNcnnLevels / reciprocal};
  return entry;
}

/// Reads one file. Rows are taken in the order of the file. A later row replaces an earlier row
/// with the same key.
class NcnnReader {
 public:
  NcnnReader(const TableReadOptions& options, TableReadResult& result)
      : names_(options.names), result_(result) {
    for (const LayerName& row : names_) by_layer_.try_emplace(row.layer, &row);
  }

  void read(std::string_view bytes) {
    const std::vector<TextRow> rows = text_rows(bytes, kNcnnWhat);
    for (const TextRow& row : rows) {
      const auto words = words_of(row.text);
      if (words.empty()) {
        if (row.number < static_cast<std::int64_t>(rows.size())) {
          note(to_text("line ", row.number, " is empty: as in ncnn, nothing behind it counts"));
        }
        break;
      }
      if (words[0].starts_with('#')) {
        note(to_text("line ", row.number, " is switched off by its '#'"));
        continue;
      }
      take(row, words);
    }
    result_.table.method = names_.empty() ? kMethodByLayer : kMethod;
    for (const std::string& layer : inputs_in_order_) add_activation(layer);
    for (WeightEntry& entry : weights_) add_weight(std::move(entry));
    if (names_.empty() && !inputs_in_order_.empty()) {
      note("the names are ncnn's layers; a model or a name map turns them into tensors");
    }
  }

 private:
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  void take(const TextRow& row, const std::vector<std::string_view>& words) {
    std::string key = name_in_row(row, kNcnnWhat, words[0], kMaxKeyBytes);
    if (words.size() < 2) fail_row(row, kNcnnWhat, row.text, "a key and at least one number");
    if (key.find(kParam) != key.npos) {
      WeightEntry entry = weight_of(row, key, words);
      const auto [it, fresh] = weight_index_.try_emplace(key, weights_.size());
      if (fresh) {
        weights_.push_back(std::move(entry));
      } else {
        note(to_text("'", key, "' occurs twice; the last row counts"));
        weights_[it->second] = std::move(entry);
      }
      return;
    }
    if (words.size() != 2) fail_row(row, kNcnnWhat, row.text, "one number for a layer's input");
    const auto [it, fresh] = inputs_.insert_or_assign(key, reciprocal_of(row, words[1]));
    if (fresh) {
      inputs_in_order_.push_back(it->first);
    } else {
      note(to_text("'", key, "' occurs twice; the last row counts"));
    }
  }

  [[nodiscard]] const LayerName* layer_named(const std::string& layer) const {
    const auto found = by_layer_.find(layer);
    return found == by_layer_.end() ? nullptr : found->second;
  }

  void require_known(const std::string& layer, bool known) const {
    if (known || names_.empty()) return;
    std::vector<std::string> candidates;
    for (const LayerName& row : names_) candidates.push_back(row.layer);
    throw Error(ErrorCode::kInvalidTable,
                to_text(kNcnnWhat, ": the layer '", layer, "' is not in the model",
                        did_you_mean(layer, candidates)));
  }

  void add_activation(const std::string& layer) {
    const float reciprocal = inputs_.at(layer);
    const LayerName* known = layer_named(layer);
    require_known(layer, known != nullptr && !known->input.empty());
    if (!weight_index_.contains(to_text(layer, kParam, 0))) {
      note(to_text("layer '", layer,
                   "' has an input row and no weight row: ncnn keeps it in FP32; "
                   "exclude it to do the same"));
    }
    const std::string tensor = known == nullptr ? layer : known->input;
    const auto [it, fresh] = tensors_.try_emplace(tensor, result_.table.activations.size());
    if (fresh) {
      result_.table.activations.push_back(activation_of(tensor, reciprocal));
      return;
    }
    // Layers that read one tensor may have different scales in ncnn; here a tensor has only one
    // scale.
    ActivationEntry& earlier = result_.table.activations[it->second];
    ActivationEntry entry = activation_of(tensor, reciprocal);
    if (entry.affine == earlier.affine && entry.degenerate == earlier.degenerate) return;
    note(to_text("layers that read '", tensor, "' have different scales; the widest range counts"));
    if (threshold_of(entry) > threshold_of(earlier)) earlier = std::move(entry);
  }

  void add_weight(WeightEntry entry) {
    const LayerName* known = layer_named(entry.consumer);
    require_known(entry.consumer, known != nullptr);
    if (known != nullptr && !known->weight.empty() &&
        entry.tensor == to_text(known->layer, kParam, 0)) {
      entry.tensor = known->weight;
      if (entry.affines.axis >= 0) entry.affines.axis = known->axis;
    }
    result_.table.weights.push_back(std::move(entry));
  }

  const LayerNames& names_;
  TableReadResult& result_;
  std::unordered_map<std::string, const LayerName*> by_layer_;
  std::unordered_map<std::string, float> inputs_;
  std::vector<std::string> inputs_in_order_;
  std::vector<WeightEntry> weights_;
  std::unordered_map<std::string, std::size_t> weight_index_;
  std::unordered_map<std::string, std::size_t> tensors_;
};

TableReadResult read_ncnn(std::string_view bytes, const TableReadOptions& options) {
  TableReadResult result;
  result.table = foreign_table(std::string(kMethod));
  NcnnReader(options, result).read(bytes);
  return result;
}

std::string number_text(float reciprocal) {
  return to_text(reciprocal == 0.0F ? std::string("inf") : to_fixed(reciprocal, kNcnnDecimals),
                 " ");
}

std::string key_text(std::string_view key) {
  name_for_row(key, kNcnnWhat, Comments::kHash);
  if (key.size() > kMaxKeyBytes || key.find_first_of(" \t") != key.npos) {
    throw Error(ErrorCode::kInvalidTable,
                to_text(kNcnnWhat, ": found the layer '", key.substr(0, kMaxKeyBytes),
                        "', expected at most ", kMaxKeyBytes, " bytes without blanks"));
  }
  return to_text(key, " ");
}

std::string weight_row(const WeightEntry& entry) {
  // A row that was read with a key of another kind (attention, RNN) keeps this key. Any other
  // weight is row 0 of its layer.
  const bool is_key = entry.tensor.starts_with(entry.consumer + std::string(kParam));
  std::string row = key_text(is_key ? entry.tensor : to_text(entry.consumer, kParam, 0));
  for (std::size_t i = 0; i < entry.affines.scales.size(); ++i) {
    row += number_text(entry.reciprocals.size() == entry.affines.scales.size()
                           ? entry.reciprocals[i]
                           : 1.0F / entry.affines.scales[i]);
  }
  return row + "\n";
}

std::string input_row(std::string_view layer, const ActivationEntry& entry) {
  if (layer.find(kParam) != layer.npos) {
    throw Error(ErrorCode::kInvalidTable,
                to_text(kNcnnWhat, ": the layer '", layer,
                        "' would be read as a weight because of '", kParam, "' in its name"));
  }
  const float threshold = threshold_of(entry);
  return to_text(key_text(layer), number_text(threshold == 0.0F ? 0.0F : kNcnnLevels / threshold),
                 "\n");
}

std::string write_ncnn(const CalibrationTable& table, const TableWriteOptions& options) {
  require_eight_bits(table, kNcnnWhat);
  const bool by_layer = table.method == kMethodByLayer;
  if (options.names.empty() && !by_layer && !table.activations.empty()) {
    throw Error(ErrorCode::kUsage,
                "ncnn tables go by layers: a model or a name map is needed to write one");
  }
  // The order of the rows: convolutions and inner products, then their inputs, then every other
  // kind of weight.
  std::string weights;
  std::string others;
  for (const WeightEntry& entry : table.weights) {
    if (entry.consumer.empty() || !entry.affines.zero_points.empty()) continue;
    const bool is_key = entry.tensor.starts_with(entry.consumer + std::string(kParam));
    const bool has_input =
        !by_layer || std::any_of(table.activations.begin(), table.activations.end(),
                                 [&](const auto& e) { return e.tensor == entry.consumer; });
    ((is_key && !has_input) || (is_key && !by_layer) ? others : weights) += weight_row(entry);
  }
  std::string inputs;
  if (by_layer) {
    for (const ActivationEntry& entry : table.activations) inputs += input_row(entry.tensor, entry);
  } else {
    std::unordered_map<std::string_view, const ActivationEntry*> by_tensor;
    for (const ActivationEntry& entry : table.activations) by_tensor[entry.tensor] = &entry;
    for (const LayerName& row : options.names) {
      if (row.weight.empty() || row.input.empty()) continue;
      const auto entry = by_tensor.find(row.input);
      if (entry != by_tensor.end()) inputs += input_row(row.layer, *entry->second);
    }
  }
  return weights + inputs + others;
}

}  // namespace

FormatInfo format_ncnn() {
  FormatInfo format;
  format.name = "ncnn";
  format.summary = "ncnn's .table: reciprocal scales of weights and of the layers' inputs";
  format.extensions = {".table"};
  format.carries = {TableContent::kWeightScales};
  format.reads_layers = format.writes_layers = true;
  format.recognises = recognises_ncnn;
  format.read = read_ncnn;
  format.write = write_ncnn;
  return format;
}

}  // namespace qtool
