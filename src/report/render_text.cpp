#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "report/answers.h"
#include "report/latency.h"
#include "report/render.h"
#include "report/samples.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using Kind = TextTable::Kind;
constexpr std::size_t kMaxBadImages = 10;

std::string difference(std::int64_t int8, std::int64_t fp32, std::int64_t total) {
  if (total == 0) return "-";
  const double points = 100.0 * static_cast<double>(int8 - fp32) / static_cast<double>(total);
  return concat(points > 0.0 ? "+" : "", to_fixed(points, 2));
}

std::string output_lines(const std::vector<OutputError>& outputs, std::int64_t images,
                         std::string_view noun) {
  std::string text;
  for (const OutputError& output : outputs) {
    if (std::isnan(output.sqnr_db)) {
      text +=
          concat("output '", printable(output.name), "': no ", noun, " that both models answer\n");
      continue;
    }
    text +=
        concat("output '", printable(output.name), "': SQNR ", to_fixed(output.sqnr_db, 2), " dB");
    if (images > 1) {
      text += concat(" (mean of the ", noun, "s; pooled ", to_fixed(output.pooled_sqnr_db, 2),
                     ", lowest ", to_fixed(output.lowest_sqnr_db, 2), " in '",
                     printable(output.lowest_sqnr_image.string()), "')");
    }
    if (output.psnr_db) text += concat(", PSNR ", to_fixed(*output.psnr_db, 2), " dB");
    text += concat(", cosine ", to_fixed(output.cosine, 6), ", largest error ",
                   to_fixed(output.max_abs_error, 5), "\n");
  }
  return text;
}

std::string bad_image_lines(const std::vector<BadImage>& bad) {
  if (bad.empty()) return {};
  std::string text = concat("left out ", bad.size(), bad.size() == 1 ? " image:\n" : " images:\n");
  for (std::size_t i = 0; i < bad.size() && i < kMaxBadImages; ++i) {
    text += concat("  ", printable(bad[i].reason), "\n");
  }
  if (bad.size() > kMaxBadImages) text += concat("  and ", bad.size() - kMaxBadImages, " more\n");
  return text;
}

template <typename Cell>
void add_int8_columns(std::vector<Cell>& row, const std::vector<std::type_identity_t<Cell>>& cells,
                      bool has_int8) {
  if (has_int8) row.insert(row.end(), cells.begin(), cells.end());
}

// The line that names the path of requantization; empty for the default path.
std::string requantization_line(Requantization path) {
  if (path == Requantization::kFloat) return {};
  return concat("requantization: ", name_of(path), ", integers only\n");
}

// The nodes that stay in FP32, one line per operator and reason, the most frequent first.
std::string text_of_float_nodes(const QuantizeReport& report) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const NodeReport& node : report.nodes) {
    if (node.role == NodeRole::kFloat) ++counts[{node.op_type, node.reason}];
  }
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [what, count] : counts) {
    lines.emplace_back(
        count, concat("  FP32: ", count, " ", printable(what.first), " (", what.second, ")\n"));
  }
  std::ranges::stable_sort(lines, std::ranges::greater(),
                           &std::pair<std::int64_t, std::string>::first);
  std::string text;
  for (const auto& [count, line] : lines) text += line;
  return text;
}

std::string text_of_names(const std::vector<NodeNames>& names, std::size_t width) {
  if (names.empty()) return {};
  TextTable table({{"  node"}, {"operator"}, {"outputs"}});
  for (const NodeNames& row : names) {
    std::string outputs;
    for (const std::string& output : row.outputs) {
      outputs += concat(outputs.empty() ? "" : ", ", printable(output));
    }
    table.add({concat("  ", printable(row.node)), printable(row.op_type), outputs});
  }
  return concat("names:\n", table.to_string(width));
}

}  // namespace

std::string text_of(const EvalResult& result, std::size_t width) {
  const bool has_int8 = result.int8.has_value();
  const ModelScore int8 = result.int8.value_or(ModelScore{});
  std::vector<TextTable::Column> columns{{concat(result.images, " ", result.noun, "s")},
                                         {"FP32", Kind::kNumber, 2}};
  add_int8_columns(columns, {{"INT8", Kind::kNumber, 3}, {"change", Kind::kNumber, 1}}, has_int8);
  TextTable table(columns);
  const auto add_accuracy = [&](const char* name, std::int64_t a, std::int64_t b) {
    std::vector<std::string> row{name, percent_of(a, result.labelled)};
    add_int8_columns(row, {percent_of(b, result.labelled), difference(b, a, result.labelled)},
                     has_int8);
    table.add(row);
  };
  if (result.labelled > 0) {
    add_accuracy("top-1", result.fp32.top1, int8.top1);
    add_accuracy("top-5", result.fp32.top5, int8.top5);
  }
  if (result.fp32.unanswered.images + int8.unanswered.images > 0) {
    std::vector<std::string> row{"no answer", to_text(result.fp32.unanswered.images)};
    add_int8_columns(row, {to_text(int8.unanswered.images), ""}, has_int8);
    table.add(row);
  }
  const double fp32_rate = result.images_per_second(result.fp32);
  const double int8_rate = result.images_per_second(int8);
  std::vector<std::string> speed{concat(result.noun, "s/s"), to_fixed(fp32_rate, 1)};
  add_int8_columns(speed, {to_fixed(int8_rate, 1), ratio(int8_rate, fp32_rate)}, has_int8);
  table.add(speed);

  std::string text = table.to_string(width);
  if (result.labelled < result.images && result.classes > 0 && result.noun == "image") {
    text += concat(result.images - result.labelled, " images have no known class\n");
  }
  if (has_int8 && result.classes > 0) {
    text += concat("agreement: ", percent_of(result.agreement, result.images),
                   " (same top-1 class for ", result.agreement, " of ", result.images, " ",
                   result.noun, "s)\n");
  }
  text += text_of_classes(result, width);
  text += requantization_line(result.requantization);
  text += text_of(result.answers, width);
  return concat(text, output_lines(result.outputs, result.images, result.noun),
                bad_image_lines(result.bad));
}

std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width) {
  const bool has_int8 = result.int8.has_value();
  std::string text;
  if (!result.fp32.top.empty()) {
    const TextTable::Column probability{"", Kind::kNumber, 1};
    std::vector<TextTable::Column> columns{{"", Kind::kNumber}, {"FP32"}, probability};
    add_int8_columns(columns, {{"INT8"}, probability}, has_int8);
    TextTable table(columns);
    for (std::size_t i = 0; i < result.fp32.top.size(); ++i) {
      const auto cells = [&](const ScoredClass& scored) {
        return std::vector<std::string>{class_name(scored.index, class_names),
                                        to_fixed(scored.probability, 4)};
      };
      std::vector<std::string> row{to_text(static_cast<std::int64_t>(i + 1))};
      const std::vector<std::string> fp32 = cells(result.fp32.top[i]);
      row.insert(row.end(), fp32.begin(), fp32.end());
      if (has_int8) add_int8_columns(row, cells(result.int8->top[i]), true);
      table.add(row);
    }
    text += table.to_string(width);
  }
  if (!result.fp32.answered) text += "the FP32 model's outputs are NaN or infinite\n";
  if (has_int8 && !result.int8->answered) text += "the INT8 model's outputs are NaN or infinite\n";
  text += text_of_answers(result, class_names, width);
  text += requantization_line(result.requantization);
  text += output_lines(result.outputs, 1, "sample");
  text += concat("latency (median of ", result.repeat, ", ", result.threads,
                 result.threads == 1 ? " thread" : " threads", "): FP32 ",
                 milliseconds(result.fp32.seconds), " ms");
  if (has_int8) {
    text += concat(", INT8 ", milliseconds(result.int8->seconds), " ms (",
                   ratio(result.fp32.seconds, result.int8->seconds), ")");
  }
  text += concat("\n", unsteady_line("FP32", result.fp32.seconds, result.fp32.fastest_seconds));
  if (has_int8) {
    text += unsteady_line("INT8", result.int8->seconds, result.int8->fastest_seconds);
  }
  return text;
}

std::string text_of(const ModelSummary& model, const std::optional<RunSummary>& run,
                    std::size_t width) {
  std::string text;
  if (!model.producer.empty()) text += concat("producer: ", model.producer, "\n");
  text += concat("opset: ", model.opset, "\n");
  const auto add_ports = [&text](const char* kind, const std::vector<PortSummary>& ports) {
    for (const PortSummary& port : ports) {
      text += concat(kind, ": '", printable(port.name), "' ", port.type, " ", port.shape, "\n");
    }
  };
  add_ports("input", model.inputs);
  add_ports("output", model.outputs);
  text += concat("parameters: ", model.parameters, " (",
                 to_fixed(static_cast<double>(model.parameter_bytes) / (1 << 20), 2), " MiB)\n");
  for (const auto& [key, value] : model.metadata) text += concat(key, ": ", value, "\n");
  text += concat("nodes: ", model.nodes, "\n");
  TextTable table({{"  operator"}, {"nodes", Kind::kNumber, 1}, {"", Kind::kText}});
  for (const OperatorCount& row : model.operators) {
    table.add(
        {concat("  ", row.op_type), to_text(row.nodes), row.supported ? "" : "not supported"});
  }
  text += table.to_string(width) + text_of_names(model.names, width);
  if (!run) return text;
  const PlanSummary& plan = run->plan;
  text += concat("MACs: ", plan.macs);
  if (plan.integer_macs > 0) {
    text += concat(", ", percent_of(plan.integer_macs, plan.macs, 1), " of them on integers");
  }
  text += concat("\nsteps: ", plan.steps, " after fusion, ", plan.integer_steps,
                 " on integers; activations in ",
                 to_fixed(static_cast<double>(plan.arena_bytes) / (1 << 20), 2), " MiB\n");
  if (run->outlook) {
    const QuantizeReport& report = run->outlook->report;
    text +=
        concat("quantized for ", report.target, ": ", coverage_line(run->outlook->coverage, report),
               "\n", text_of_float_nodes(report));
  }
  return text;
}

}  // namespace qtool
