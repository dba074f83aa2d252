#include "report/set_check.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "compare/class_tally.h"
#include "json/json.h"
#include "json/json_text.h"
#include "report/answers.h"
#include "report/samples.h"
#include "report/samples_json.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

constexpr std::size_t kMaxLines = 10;

std::string more(std::size_t all, std::string_view what) {
  return all > kMaxLines ? to_text("  and ", all - kMaxLines, " more ", what, " (--json)\n") : "";
}

/// This text comes first, because the figures after it cannot be trusted if there are many copies.
std::string copies_text(const SetCheck& check, std::string_view noun) {
  if (!check.is_full_of_copies()) return "";
  return to_text("only ", check.distinct, " of ", check.samples, " ", noun,
                 "s are different: ", check.samples - check.distinct,
                 " are near-duplicates of earlier ones\n", "enough ", noun,
                 "s: no; the halves share ", noun,
                 "s, so that their agreement below says nothing. Remove the copies\n\n");
}

std::string set_verdict(const SetCheck& check, std::string_view noun) {
  std::string text = to_text(copies_text(check, noun), "two halves of ", check.samples, " ", noun,
                             "s: ", check.moved(), " of ", check.moves.size(),
                             " scales differ by more than 5 %\n");
  if (check.moves.empty()) return text;
  text += to_text("a range of the other half costs ", to_fixed(check.loss_db(0.5), 2),
                  " dB in the median tensor, ", to_fixed(check.loss_db(0.95), 2),
                  " dB or less in 95 %, at most ", to_fixed(check.moves.front().loss_db, 2),
                  " dB in '", check.moves.front().tensor, "'\n");
  const std::string expected =
      to_text("all together are expected to lose a quarter of that to very many: ",
              to_fixed(check.expected_loss_db(0.5), 2), " dB in the median tensor, ",
              to_fixed(check.expected_loss_db(0.95), 2), " dB in 95 %\n");
  text += expected;
  if (check.is_full_of_copies()) return text;
  text += check.is_enough()
              ? to_text("enough ", noun, "s: yes\n")
              : to_text("enough ", noun, "s: no, expected at most ", to_fixed(kMaxMedianLossDb, 1),
                        " dB and ", to_fixed(kMaxTailLossDb, 1), " dB; add more of the kind\n");
  return text;
}

std::string moves_text(const SetCheck& check, std::size_t width) {
  TextTable table({{"tensor"}, {"scale moved", Kind::kNumber}, {"costs dB", Kind::kNumber}});
  std::size_t shown = 0;
  for (const RangeMove& move : check.moves) {
    if (move.move <= kMinMove || shown++ >= kMaxLines) continue;
    table.add(
        {move.tensor, to_text(to_fixed(100.0 * move.move, 1), " %"), to_fixed(move.loss_db, 2)});
  }
  if (shown == 0) return "";
  return to_text("\n", table.to_string(width), more(shown, "tensors"));
}

std::string setters_text(const SetCheck& check, const Samples& samples, std::size_t width) {
  if (check.setters.empty()) return "";
  TextTable table(
      {{"makes ranges wider alone"}, {"tensors", Kind::kNumber}, {"most", Kind::kNumber}, {"in"}});
  for (std::size_t i = 0; i < std::min(check.setters.size(), kMaxLines); ++i) {
    const RangeSetter& setter = check.setters[i];
    table.add({samples.path(setter.sample).string(), to_text(setter.tensors),
               to_text(to_fixed(setter.widening, 2), "x"), setter.widest});
  }
  return to_text("\n", table.to_string(width), more(check.setters.size(), "files"));
}

std::string twins_text(const SetCheck& check, const Samples& samples, std::size_t width) {
  std::string note;
  if (samples.size() > kMaxTwinSamples) {
    note = to_text("near-duplicates were looked for among the first ", kMaxTwinSamples, " only\n");
  }
  if (check.twins.empty()) return note;
  TextTable table({{"near-duplicates"}, {"of"}, {"distance", Kind::kNumber}});
  for (std::size_t i = 0; i < std::min(check.twins.size(), kMaxLines); ++i) {
    const Twins& twins = check.twins[i];
    table.add({samples.path(twins.first).string(), samples.path(twins.second).string(),
               to_fixed(twins.distance, 3)});
  }
  return to_text("\n", table.to_string(width), more(check.twins.size(), "pairs"), note);
}

}  // namespace

std::string text_of_errors(const EvalResult& result, std::size_t width) {
  std::string text = "\n";
  for (const OutputError& output : result.outputs) {
    text += to_text("INT8 against FP32: mean SQNR ", to_fixed(output.sqnr_db, 2), " dB at output '",
                    printable(output.name), "', of ", result.images, " ", result.noun, "s\n");
  }
  const std::vector<const SampleResult*> flipped = flips(result.samples);
  if (result.classes > 0) {
    text += to_text(flipped.size(), " of ", result.images, " ", result.noun,
                    "s are answered with another class\n");
  }
  if (!flipped.empty()) {
    TextTable table({{"another class"},
                     {"FP32"},
                     {"margin", Kind::kNumber},
                     {"INT8"},
                     {"margin", Kind::kNumber},
                     {"margin lost", Kind::kNumber}});
    for (std::size_t i = 0; i < std::min(flipped.size(), kMaxLines); ++i) {
      const SampleResult& one = *flipped[i];
      const auto name = [&](std::size_t model) {
        return printable(class_name(one.top1[model].index, result.class_names));
      };
      table.add({printable(one.path.string()), name(0), to_fixed(one.top1[0].margin, 2), name(1),
                 to_fixed(one.top1[1].margin, 2), to_fixed(one.margin_lost, 2)});
    }
    text += to_text("\n", table.to_string(width), more(flipped.size(), "files"));
  }
  TextTable table({{"errs most"}, {"SQNR dB", Kind::kNumber}});
  for (const SampleResult* one : lowest_sqnr(result.samples, kMaxLines)) {
    table.add({printable(one->path.string()), to_fixed(mean_sqnr_db(*one), 2)});
  }
  return to_text(text, "\n", table.to_string(width));
}

std::string text_of(const SetCheck& check, const Samples& samples, std::size_t width) {
  return to_text(set_verdict(check, samples.noun()), moves_text(check, width),
                 setters_text(check, samples, width), twins_text(check, samples, width),
                 text_of(UnusedFiles{check.bad, samples.passed_over()}));
}

std::string json_of(const SetCheck& check, const Samples& samples, const EvalResult* errors) {
  Json json;
  json["samples"] = check.samples;
  json["different"] = check.distinct;
  json["full_of_copies"] = check.is_full_of_copies();
  json["enough"] = check.is_enough();
  json["moved"] = check.moved();
  json["loss_db"] = {{"median", check.loss_db(0.5)},
                     {"of_95_percent", check.loss_db(0.95)},
                     {"most", check.loss_db(1.0)}};
  json["expected_loss_db"] = {{"median", check.expected_loss_db(0.5)},
                              {"of_95_percent", check.expected_loss_db(0.95)}};
  json["tensors"] = Json::array();
  for (const RangeMove& move : check.moves) {
    json["tensors"].push_back(
        {{"tensor", move.tensor}, {"scale_moved", move.move}, {"loss_db", move.loss_db}});
  }
  json["widen_alone"] = Json::array();
  for (const RangeSetter& setter : check.setters) {
    json["widen_alone"].push_back({{"file", samples.path(setter.sample).string()},
                                   {"tensors", setter.tensors},
                                   {"widest", setter.widest},
                                   {"widening", setter.widening}});
  }
  json["near_duplicates"] = Json::array();
  for (const Twins& twins : check.twins) {
    json["near_duplicates"].push_back({{"a", samples.path(twins.first).string()},
                                       {"b", samples.path(twins.second).string()},
                                       {"distance", twins.distance}});
  }
  add_unused({check.bad, samples.passed_over()}, json);
  if (errors == nullptr) return json_text(json);
  Json evaluation = Json::object();
  evaluation["sqnr_db"] = Json::array();
  for (const OutputError& output : errors->outputs) {
    evaluation["sqnr_db"].push_back({{"output", output.name}, {"sqnr_db", output.sqnr_db}});
  }
  evaluation["errs_most"] = Json::array();
  for (const SampleResult* one : lowest_sqnr(errors->samples, kMaxLines)) {
    evaluation["errs_most"].push_back(
        {{"file", one->path.string()}, {"sqnr_db", mean_sqnr_db(*one)}});
  }
  add_classes(*errors, evaluation);
  json["int8"] = std::move(evaluation);
  return json_text(json);
}

}  // namespace qtool
