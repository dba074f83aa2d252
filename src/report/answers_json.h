#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "qtool/answers/answer.h"

namespace qtool {

/// Adds `boxes` and `mask` to `json`, as far as they were asked for.
void add_agreement(const AnswerAgreement& agreement, nlohmann::ordered_json& json);

/// Every box with its class, score and corners in pixels of the network's input.
nlohmann::ordered_json json_of(std::span<const Box> boxes,
                               std::span<const std::string> class_names);

/// Every class of pixels with its number of pixels and share, the most first. The class of pixels
/// for which the network says no number is -1.
nlohmann::ordered_json json_of(const Mask& mask, std::span<const std::string> class_names);

}  // namespace qtool
