#pragma once

#include <set>
#include <string_view>

#include "qtool/graph/graph.h"

// Integers of 4 bits: a graph holds them in 8, a file in 4. A node DequantizeLinear knows that its
// integers are such, by an attribute that no file may have and none gets.
namespace qtool {

/// The attribute of those nodes: the bits of an integer.
inline constexpr std::string_view kBitsAttribute = "qtool.bits";

/// Notes in all readers of `id`, whose integers a file has in 4 bits, that they are. Throws
/// Error(kUnsupported) where another node than DequantizeLinear reads them: only there nothing can
/// tell 4 bits from 8.
void mark_four_bits(Graph& graph, ValueId id);

/// Whether a node was marked.
bool dequantizes_four_bits(const Node& node);

/// The values with a known tensor, constants and outputs of Constant nodes, that a file gets in 4
/// bits: all their readers were marked, and the integers and zero points of these readers fit.
std::set<ValueId> four_bit_values(const Graph& graph);

}  // namespace qtool
