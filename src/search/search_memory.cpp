#include "search/search_memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "json/json.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using Json = nlohmann::json;

constexpr const char* kSourcesName = "sources";
constexpr const char* kBadName = "images left out";
constexpr std::int64_t kMaxTrialBytes = std::int64_t{16} << 20;  ///< size of one result

// Numbers are stored as their bits, because JSON has no infinity and no NaN.
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
double number(const Json& json) { return std::bit_cast<double>(json.get<std::uint64_t>()); }

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json optional_bits(const std::optional<double>& value) {
  return value ? Json(bits(*value)) : Json();
}
std::optional<double> optional_number(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(number(json));
}

/// The name of a result. It depends on the parts in which the changes of a search differ.
std::string name_of(const Change& change) {
  const Json json = Json::array({Json(change.exclude), Json(change.wide)});
  return to_text("model ", to_hex(hash_bytes(text_of(json))));
}

Json json_of(const TrialScore& score) {
  Json sqnr = Json::array();
  for (const double db : score.sqnr_db) sqnr.push_back(bits(db));
  Json json{{"pooled_sqnr_db", sqnr},
            {"images", score.images},
            {"unanswered", score.unanswered},
            {"agreement", optional_bits(score.agreement)},
            {"equal_pixels", optional_bits(score.equal_pixels)},
            {"labelled", score.labelled},
            {"fp32_top1", score.fp32_top1},
            {"top1", score.top1},
            {"integer_share", bits(score.integer_share)}};
  if (score.boxes) {
    json["boxes"] = Json::array({score.boxes->fp32, score.boxes->int8, score.boxes->kept});
  }
  return json;
}

std::int64_t count(const Json& json, std::int64_t most) {
  const auto value = json.get<std::int64_t>();
  if (value < 0 || value > most) {
    throw Error(ErrorCode::kInvalidArgument, to_text("found a count of ", value));
  }
  return value;
}

TrialScore score_of(const Json& json, std::int64_t samples) {
  constexpr std::int64_t kMaxBoxes = std::int64_t{1} << 40;
  TrialScore score;
  for (const Json& db : json.at("pooled_sqnr_db")) score.sqnr_db.push_back(number(db));
  score.images = count(json.at("images"), samples);
  score.unanswered = count(json.at("unanswered"), samples);
  score.agreement = optional_number(json.at("agreement"));
  score.equal_pixels = optional_number(json.at("equal_pixels"));
  score.labelled = count(json.at("labelled"), samples);
  score.fp32_top1 = count(json.at("fp32_top1"), samples);
  score.top1 = count(json.at("top1"), samples);
  score.integer_share = number(json.at("integer_share"));
  if (json.contains("boxes")) {
    BoxMatch& boxes = score.boxes.emplace();
    boxes.fp32 = count(json.at("boxes").at(0), kMaxBoxes);
    boxes.int8 = count(json.at("boxes").at(1), kMaxBoxes);
    boxes.kept = count(json.at("boxes").at(2), std::min(boxes.fp32, boxes.int8));
  }
  return score;
}

/// The value that `read` makes of the result called `name`; nullopt where the result is absent or
/// malformed.
template <typename Read>
auto recalled(const PartialResults* results, const std::string& name, const Read& read)
    -> std::optional<decltype(read(Json()))> {
  const std::optional<std::string> text = results ? results->find(name) : std::nullopt;
  if (!text) return std::nullopt;
  try {
    return read(parse_json(*text, kMaxTrialBytes, name, ErrorCode::kInvalidArgument));
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

SourceKind source_kind(int number) {
  if (number < 0 || number > static_cast<int>(SourceKind::kBias)) {
    throw Error(ErrorCode::kInvalidArgument, "found another kind of source");
  }
  return static_cast<SourceKind>(number);
}

}  // namespace

std::size_t SearchMemory::run(const Trials& runner, std::vector<Trial>& trials,
                              std::int64_t samples, bool only_kept) {
  std::vector<Trial> fresh;
  std::vector<std::size_t> trial_of;  // [index in fresh]
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (recall(trials[i], samples)) continue;
    trial_of.push_back(i);
    fresh.push_back(trials[i]);
  }
  if (only_kept && !fresh.empty()) throw Error(ErrorCode::kCancelled, "the budget is used up");
  runner.run(fresh);
  if (!runner.bad().empty()) keep(runner.bad());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    keep(fresh[i]);
    trials[trial_of[i]] = std::move(fresh[i]);
  }
  return fresh.size();
}

bool SearchMemory::recall(Trial& trial, std::int64_t samples) const {
  const auto read = [&](const Json& json) {
    if (json.at("exclude") != Json(trial.change.exclude) ||
        json.at("wide") != Json(trial.change.wide)) {
      throw Error(ErrorCode::kInvalidArgument, "found another model");
    }
    Trial known{trial.change, optional_number(json.at("noise")), {}};
    if (known.noise) known.score = score_of(json.at("score"), samples);
    return known;
  };
  std::optional<Trial> known = recalled(results_, name_of(trial.change), read);
  if (!known) return false;
  trial = std::move(*known);
  return true;
}

void SearchMemory::keep(const Trial& trial) {
  if (results_ == nullptr) return;
  Json json{{"exclude", trial.change.exclude},
            {"wide", trial.change.wide},
            {"noise", optional_bits(trial.noise)}};
  if (trial.noise) json["score"] = json_of(trial.score);
  results_->keep(name_of(trial.change), text_of(json));
}

std::vector<BadImage> SearchMemory::bad(const Trials& runner) const {
  if (!runner.bad().empty()) return runner.bad();
  const auto read = [](const Json& json) {
    std::vector<BadImage> bad;
    for (const Json& row : json) {
      bad.push_back({row.at(0).get<std::string>(), row.at(1).get<std::string>()});
    }
    return bad;
  };
  return recalled(results_, kBadName, read).value_or(std::vector<BadImage>());
}

void SearchMemory::keep(const std::vector<BadImage>& bad) {
  if (results_ == nullptr) return;
  Json rows = Json::array();
  for (const BadImage& image : bad)
    rows.push_back(Json::array({image.path.string(), image.reason}));
  results_->keep(kBadName, text_of(rows));
}

std::optional<AnalyzeResult> SearchMemory::sources() const {
  return recalled(results_, kSourcesName, [](const Json& json) {
    AnalyzeResult analysis;
    analysis.images = json.at("images").get<std::int64_t>();
    for (const Json& row : json.at("sources")) {
      ErrorSource source;
      source.kind = source_kind(row.at(0).get<int>());
      source.name = row.at(1).get<std::string>();
      source.node = row.at(2).get<std::string>();
      source.noise = number(row.at(3));
      source.share = number(row.at(4));
      analysis.sources.push_back(std::move(source));
    }
    return analysis;
  });
}

void SearchMemory::keep(const AnalyzeResult& analysis) {
  if (results_ == nullptr) return;
  Json rows = Json::array();
  for (const ErrorSource& source : analysis.sources) {
    rows.push_back(Json::array({static_cast<int>(source.kind), source.name, source.node,
                                bits(source.noise), bits(source.share)}));
  }
  const Json json{{"images", analysis.images}, {"sources", rows}};
  results_->keep(kSourcesName, text_of(json));
}

}  // namespace qtool
