#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace qtool {

/// The figures of a page as text of at most `room` bytes. Where they are larger, the drawings of
/// the least noisy tensors are left out first, then kinds of drawings, then rows of lists.
std::string block_within(std::size_t room, nlohmann::ordered_json figures);

}  // namespace qtool
