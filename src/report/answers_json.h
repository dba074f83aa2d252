#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/answers/annotations.h"
#include "qtool/answers/answer.h"
#include "qtool/compare/infer.h"
#include "qtool/compare/profile.h"

namespace qtool {

/// `part` of `total` as a number from 0 to 1; null if `total` is 0.
nlohmann::ordered_json share_json(std::int64_t part, std::int64_t total);

/// [low, high]; null without an interval.
nlohmann::ordered_json interval_json(const std::optional<Interval>& interval);

/// {"median", "low", "high"}.
nlohmann::ordered_json median_json(const MedianInterval& interval);

/// The boxes that were counted and their shares, with intervals.
nlohmann::ordered_json json_of(const BoxMatch& match);

/// Adds `boxes`, `mask`, `decisions` and `texts` to `json`, each only if it was asked for.
void add_agreement(const AnswerAgreement& agreement, nlohmann::ordered_json& json);

/// The average precision of both models against annotations.
nlohmann::ordered_json json_of(const BoxAccuracy& accuracy);

/// How far each output of the two models agrees.
nlohmann::ordered_json json_of_outputs(const std::vector<OutputError>& outputs);

/// Every box with its class, score and corners in pixels of the network's input.
nlohmann::ordered_json json_of(std::span<const Box> boxes,
                               std::span<const std::string> class_names);

/// Every class of pixels with its number of pixels and its share, the largest number first. Pixels
/// for which the output of the network is not a number (NaN) have class -1.
nlohmann::ordered_json json_of(const Mask& mask, std::span<const std::string> class_names);

}  // namespace qtool
