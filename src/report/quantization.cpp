#include "report/quantization.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "compare/intervals.h"
#include "json/json_text.h"
#include "report/answers_json.h"
#include "report/faster.h"
#include "report/preprocessing_json.h"
#include "report/samples.h"
#include "report/samples_json.h"
#include "report/shell.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

std::string_view role_name(NodeRole role) {
  switch (role) {
    case NodeRole::kInteger:
      return "integer";
    case NodeRole::kPassing:
      return "passing";
    case NodeRole::kFused:
      return "fused";
    case NodeRole::kFloat:
      return "fp32";
    case NodeRole::kNotReal:
      return "not real";
  }
  return "";
}

constexpr std::size_t kMaxNamed = 5;
constexpr std::size_t kShortTable = 10;

// Whether each row of a short table is shown.
std::vector<bool> rows_of_short_table(const std::vector<ActivationEntry>& entries) {
  std::vector<std::size_t> by_sqnr(entries.size());
  std::iota(by_sqnr.begin(), by_sqnr.end(), std::size_t{0});
  std::ranges::stable_sort(by_sqnr, std::ranges::less(), [&](std::size_t i) {
    return entries[i].sqnr_db.value_or(std::numeric_limits<double>::infinity());
  });
  std::vector<bool> shown;
  for (const ActivationEntry& entry : entries) {
    shown.push_back(entry.degenerate != Degenerate::kNo);
  }
  for (std::size_t rank = 0; rank < std::min(kShortTable, entries.size()); ++rank) {
    shown[by_sqnr[rank]] = true;
  }
  return shown;
}

Json verification_json(const Verification& verified) {
  Json json{{"samples", verified.samples},
            {"min_sqnr_db", verified.min_sqnr_db},
            {"passed", verified.faults.empty()},
            {"faults", verified.faults},
            {"outputs", Json::array()}};
  for (const OutputError& output : verified.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"judged", Verification::judges(output)},
                               {"sqnr_db", output.sqnr_db},
                               {"pooled_sqnr_db", output.pooled_sqnr_db},
                               {"lowest_sqnr_db", output.lowest_sqnr_db},
                               {"lowest_sqnr_image", output.lowest_sqnr_image.string()},
                               {"max_abs_error", output.max_abs_error}});
  }
  return json;
}

}  // namespace

std::string text_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, ListLength length, std::size_t width) {
  TextTable text({{"tensor"},
                  {"min", Kind::kNumber, 2},
                  {"max", Kind::kNumber, 1},
                  {"range", Kind::kText, 7},
                  {"scale", Kind::kNumber, 4},
                  {"zero point", Kind::kNumber, 3},
                  {"SQNR dB", Kind::kNumber, 5},
                  {"", Kind::kText, 6}});
  const std::vector<bool> shown = length == ListLength::kShort
                                      ? rows_of_short_table(table.activations)
                                      : std::vector<bool>(table.activations.size(), true);
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < table.activations.size(); ++i) {
    const ActivationEntry& entry = table.activations[i];
    if (!shown[i]) {
      ++left_out;
      continue;
    }
    text.add({entry.tensor, to_fixed(entry.observed.min, 4), to_fixed(entry.observed.max, 4),
              to_text("[", to_fixed(entry.range.min, 4), ", ", to_fixed(entry.range.max, 4), "]"),
              to_text(entry.affine.scale), to_text(std::int64_t{entry.affine.zero_point}),
              entry.sqnr_db ? to_fixed(*entry.sqnr_db, 1) : "-",
              std::string(name_of(entry.degenerate))});
  }
  std::string rest;
  if (left_out > 0) {
    rest = to_text(
        "and ", left_out, left_out == 1 ? " tensor" : " tensors",
        " of a higher SQNR; all of them: --verbose, or\n    ",
        shell_line(std::vector<std::string>{"qtool", "table", "show", std::string(output)}), "\n");
  }
  return to_text(text.to_string(width), rest, "\n", table.activations.size(), " activations and ",
                 table.weights.size(), " weights by '", table.method, "' from ", table.image_count,
                 table.preprocess ? " images" : " samples", " -> ", output, "\n", text_of(unused));
}

std::string json_of(const CalibrationTable& table, std::string_view output,
                    const UnusedFiles& unused, const std::optional<SourcedPreprocess>& preprocess) {
  std::int64_t degenerate = 0;
  const ActivationEntry* worst = nullptr;
  for (const ActivationEntry& entry : table.activations) {
    if (entry.degenerate != Degenerate::kNo) ++degenerate;
    if (entry.sqnr_db && (worst == nullptr || *entry.sqnr_db < *worst->sqnr_db)) worst = &entry;
  }
  Json json;
  json["output"] = output;
  json["method"] = table.method;
  json["images"] = table.image_count;
  json["preprocess"] = json_of(preprocess);
  json["activations"] = table.activations.size();
  json["weights"] = table.weights.size();
  json["degenerate"] = degenerate;
  if (worst != nullptr) {
    json["lowest_sqnr"] = {{"tensor", worst->tensor}, {"sqnr_db", *worst->sqnr_db}};
  }
  add_unused(unused, json);
  return json_text(json);
}

std::string size_line(const QuantizationSummary& s) {
  const double size = s.fp32_bytes == 0
                          ? 0.0
                          : static_cast<double>(s.int8_bytes) / static_cast<double>(s.fp32_bytes);
  return to_text(s.output, ": ", s.int8_bytes, " bytes, ", percent(size, 1), " of FP32\n");
}

std::string text_of(const JudgedChoice& choice, std::string_view noun) {
  const auto [least, most] = std::ranges::minmax(choice.gains, {}, &MeanGain::decibels);
  std::string gain = to_signed_fixed(most.decibels, 2);
  if (choice.gains.size() > 1) gain = to_text(to_signed_fixed(least.decibels, 2), " to ", gain);
  gain += " dB";
  if (choice.gains.size() == 1) gain += to_text(" (", fixed_interval(most.interval, 2), ")");
  return to_text("judged on ", choice.samples, " ", noun, "s held back: ", choice.name, " ", gain,
                 choice.is_kept ? ": kept" : ": taken back");
}

std::string text_of(const FunctionPairs& pairs, std::string_view noun) {
  constexpr std::size_t kMostNamed = 3;
  std::string named;
  for (std::size_t i = 0; i < std::min(kMostNamed, pairs.costs.size()); ++i) {
    named += to_text(i == 0 ? "" : ", ", printable(pairs.costs[i].tensor), " ",
                     percent(pairs.costs[i].share, 0));
  }
  const bool one = pairs.costs.size() == 1;
  return to_text(pairs.costs.size(), one ? " tensor is" : " tensors are",
                 " rounded between a product and its function: of the noise of the model, ",
                 one ? "alone it makes " : "each alone, they make together ",
                 percent(pairs.share(), 0), " (", pairs.samples, " ", noun,
                 pairs.samples == 1 ? "): " : "s): ", named, "; target ", pairs.target,
                 one ? " does not round it" : " rounds none of them");
}

std::string text_of(const PairChoice& pairs, std::string_view noun) {
  const std::string cost = to_text(to_fixed(pairs.cost_db, 2), " dB on ", pairs.samples, " ", noun,
                                   pairs.samples == 1 ? "" : "s");
  if (!pairs.interval) return cost;
  return to_text(cost, " (", fixed_interval(pairs.interval, 2), " dB)");
}

std::string text_of(const Verification& verified) {
  std::string text = to_text("verified on ", verified.samples, " ", verified.noun,
                             verified.samples == 1 ? "" : "s", ", expected ",
                             to_text(verified.min_sqnr_db), " dB or more:\n");
  for (const OutputError& output : verified.outputs) {
    text += to_text("  '", printable(output.name), "': ");
    if (!Verification::judges(output)) {
      text += to_text("integers, not judged, at most ", to_text(output.max_abs_error), " apart\n");
    } else if (std::isnan(output.sqnr_db)) {
      text += "not compared\n";
    } else {
      text += to_text("pooled ", to_fixed(output.pooled_sqnr_db, 2), " dB, mean ",
                      to_fixed(output.sqnr_db, 2), ", lowest ", to_fixed(output.lowest_sqnr_db, 2),
                      " in '", printable(output.lowest_sqnr_image.string()), "'\n");
    }
  }
  return text;
}

std::string text_of_float_nodes(const QuantizeReport& report, std::string_view indent) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const NodeReport& node : report.nodes) {
    if (node.role == NodeRole::kFloat) ++counts[{node.op_type, node.reason}];
  }
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [what, count] : counts) {
    lines.emplace_back(count, to_text(indent, "FP32: ", count, " ", printable(what.first), " (",
                                      printable(what.second), ")\n"));
  }
  std::ranges::stable_sort(lines, std::ranges::greater(),
                           &std::pair<std::int64_t, std::string>::first);
  std::string text;
  for (const auto& [count, line] : lines) text += line;
  return text;
}

std::string text_of(const QuantizationSummary& s, ListLength length) {
  std::string text = size_line(s);
  for (const RewriteReport& rewrite : s.report.rewrites) {
    if (rewrite.tensors == 0) continue;
    text += to_text("rewritten by ", rewrite.rewrite, ": ", rewrite.tensors, " tensors\n");
  }
  if (s.report.residuals > 0) {
    text +=
        to_text("note: convolutions that add a shortcut before they round: ", s.report.residuals,
                "; ONNX Runtime runs these in FP32\n");
  }
  if (s.report.qoperators > 0) {
    text += to_text("note: nodes that take and give integers (--format qoperator): ",
                    s.report.qoperators, "\n");
  }
  if (s.report.inner_functions > 0) {
    text += to_text("note: functions that run inside the convolution before them: ",
                    s.report.inner_functions, "; ONNX Runtime runs both in FP32\n");
  }
  if (s.report.functions > 0) {
    text += to_text("note: functions of one element that run as tables: ", s.report.functions,
                    "; ONNX Runtime runs these in FP32\n");
  }
  if (!s.report.wide.empty()) {
    text += to_text("note: tensors that keep 16 bits: ", s.report.wide.size(),
                    "; ONNX Runtime runs the layers that read these in FP32\n");
  }
  for (const UnequalConcat& concat_node : s.report.unequal_concats) {
    text += to_text("note: the operands of '", concat_node.node,
                    "' keep scales of their own: the narrowest uses ",
                    percent(concat_node.smallest_share, 1), " of the common range\n");
  }
  if (length == ListLength::kShort) {
    const std::string left = text_of_float_nodes(s.report, "");
    text += left;
    if (!left.empty()) text += "--verbose names each node in FP32\n";
  } else {
    for (const NodeReport& node : s.report.nodes) {
      if (node.role != NodeRole::kFloat) continue;
      text += to_text("FP32: '", printable(node.node), "' ", printable(node.op_type), " (",
                      printable(node.reason), ")\n");
    }
  }
  const std::vector<std::string>& uncorrected = s.report.uncorrected_layers;
  for (std::size_t i = 0; i < uncorrected.size() && i < kMaxNamed; ++i) {
    text += to_text(i == 0 ? "bias not corrected: '" : ", '", uncorrected[i], "'");
  }
  if (uncorrected.size() > kMaxNamed) {
    text += to_text(" and ", uncorrected.size() - kMaxNamed, " more");
  }
  if (!uncorrected.empty()) text += "\n";
  text += s.coverage_line + "\n";
  if (!s.bench.empty()) {
    text +=
        to_text("the speed depends on the runtime, and may be below FP32's; to measure it here:\n",
                "    ", shell_line(s.bench), "\n");
  }
  if (s.faster) text += text_of(*s.faster);
  text += overlap_line(s.overlap);
  if (s.verified) text += text_of(*s.verified);
  return to_text(text, text_of(s.unused));
}

std::string json_of(const QuantizationSummary& s) {
  Json json;
  json["output"] = s.output;
  json["target"] = s.report.target;
  json["fp32_bytes"] = s.fp32_bytes;
  json["int8_bytes"] = s.int8_bytes;
  json["weight_bytes"] = s.report.weight_bytes;
  json["output_channels"] = s.report.output_channels;
  json["added_nodes"] = s.report.added_nodes;
  json["quantized_tensors"] = s.report.quantized_tensors;
  json["corrected_biases"] = s.report.corrected_biases;
  json["tuned_ranges"] = s.report.tuned_ranges;
  json["residual_convolutions"] = s.report.residuals;
  json["functions_as_tables"] = s.report.functions;
  json["functions_inside"] = s.report.inner_functions;
  json["saturating_pairs"] = s.report.saturating_pairs;
  json["qoperator_nodes"] = s.report.qoperators;
  json["wide_tensors"] = s.report.wide;
  json["uncorrected_layers"] = s.report.uncorrected_layers;
  if (!s.report.rewrites.empty()) json["rewrites"] = Json::array();
  for (const RewriteReport& rewrite : s.report.rewrites) {
    Json row{{"name", rewrite.rewrite}, {"tensors", rewrite.tensors}};
    if (!rewrite.reason.empty()) row["reason"] = rewrite.reason;
    json["rewrites"].push_back(std::move(row));
  }
  if (!s.judged.empty()) json["judged"] = Json::array();
  for (const JudgedChoice& choice : s.judged) {
    Json gains = Json::array();
    for (const MeanGain& gain : choice.gains) {
      gains.push_back({{"db", gain.decibels}, {"interval", interval_json(gain.interval)}});
    }
    json["judged"].push_back({{"choice", choice.name},
                              {"kept", choice.is_kept},
                              {"samples", choice.samples},
                              {"gains", std::move(gains)}});
  }
  if (s.function_pairs) {
    Json costs = Json::array();
    for (const FunctionPairs::Cost& cost : s.function_pairs->costs) {
      costs.push_back({{"tensor", cost.tensor}, {"share", cost.share}});
    }
    json["function_pairs"] = {{"target", s.function_pairs->target},
                              {"samples", s.function_pairs->samples},
                              {"share", s.function_pairs->share()},
                              {"costs", std::move(costs)}};
  }
  json["coverage"] = {{"line", s.coverage_line},
                      {"macs", s.coverage.macs},
                      {"integer_macs", s.coverage.integer_macs},
                      {"convolutions", s.coverage.convolutions},
                      {"integer_convolutions", s.coverage.integer_convolutions}};
  if (s.overlap) json["overlap"] = overlap_json(s.overlap);
  if (s.faster) json["faster_only"] = Json::parse(json_of(*s.faster));
  if (s.verified) json["verified"] = verification_json(*s.verified);
  json["nodes"] = Json::array();
  for (const NodeReport& node : s.report.nodes) {
    Json row{{"node", node.node}, {"op_type", node.op_type}, {"role", role_name(node.role)}};
    if (!node.reason.empty()) row["reason"] = node.reason;
    json["nodes"].push_back(std::move(row));
  }
  json["unequal_concats"] = Json::array();
  for (const UnequalConcat& node : s.report.unequal_concats) {
    json["unequal_concats"].push_back({{"node", node.node},
                                       {"operands", node.operands},
                                       {"scales", node.scales},
                                       {"smallest_share", node.smallest_share}});
  }
  add_unused(s.unused, json);
  return json_text(json);
}

}  // namespace qtool
