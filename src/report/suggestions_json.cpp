#include "report/suggestions_json.h"

#include <optional>
#include <string>

#include "report/answers_json.h"
#include "report/samples_json.h"

namespace qtool {
namespace {

// The keys are those of eval.
void add_share(const std::string& name, const std::optional<AnswerShare>& share,
               nlohmann::ordered_json& json) {
  if (!share) return;
  json[name] = share->value;
  json[name + "_interval"] = interval_json(share->interval);
}

// Only what was compared.
nlohmann::ordered_json json_of_kept(const KeptAnswers& answers) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (answers.boxes) json["boxes"] = json_of(*answers.boxes);
  if (answers.pixels) {
    add_share("agreement", answers.pixels, json["mask"]);
    add_share("mean_iou", answers.mean_iou, json["mask"]);
  }
  add_share("agreement", answers.classes, json);
  return json;
}

}  // namespace

nlohmann::ordered_json json_of(const SuggestResult& result, const MakingCommands& commands) {
  nlohmann::ordered_json json;
  json["sqnr_db"] = result.sqnr_db;
  json["answers"] = json_of_kept(result.answers);
  json["tried"] = result.tried;
  json["images"] = result.images;
  json["learned_on"] = result.learned_on;
  json["min_gain_db"] = result.min_gain_db;
  json["threads"] = result.threads;
  json["int8_seconds"] = result.int8_seconds;
  json["integer_share"] = result.integer_share;
  json["list"] = nlohmann::ordered_json::array();
  for (const Suggestion& suggestion : result.suggestions) {
    const ChangeOptions options = options_of(suggestion.change);
    const ChangeLine line = line_of(options, commands);
    json["list"].push_back({{"command", options.command},
                            {"options", options.words},
                            {"line", line.text},
                            {"complete", line.complete},
                            {"sqnr_db", suggestion.sqnr_db},
                            {"gain_db", suggestion.gain_db},
                            {"gain_interval_db", interval_json(suggestion.gain_interval_db)},
                            {"answers", json_of_kept(suggestion.answers)},
                            {"noise", suggestion.noise},
                            {"integer_share", suggestion.integer_share},
                            {"making_seconds", suggestion.making_seconds},
                            {"slower_seconds", median_json(suggestion.cost.seconds)},
                            {"slower_ratio", median_json(suggestion.cost.ratio)},
                            {"disturbed", suggestion.cost.disturbed},
                            {"gain_text", gain_text(suggestion)},
                            {"answers_text", answers_text(result.answers, suggestion.answers)},
                            {"cost_text", cost_text(suggestion, result.integer_share)}});
  }
  json["by_source"] = nlohmann::ordered_json::array();
  for (const SourceTrial& trial : result.by_source) {
    const ChangeLine line = line_of(options_of(trial.change), commands);
    json["by_source"].push_back({{"source", trial.source},
                                 {"kind", name_of(trial.kind)},
                                 {"what", trial.what},
                                 {"gain_db", trial.gain_db},
                                 {"line", line.text},
                                 {"complete", line.complete}});
  }
  json["left_out"] = json_of(result.bad);
  return json;
}

}  // namespace qtool
