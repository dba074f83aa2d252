#pragma once

#include <set>
#include <string_view>

#include "qtool/graph/graph.h"

// Integers of 4 bits. A graph holds them in 8 bits, a file in 4 bits. In a graph, a
// DequantizeLinear node that reads them is marked by an attribute. The attribute is never written
// to a file, and a file that contains it is refused.
namespace qtool {

/// The attribute of the marked nodes: the number of bits of an integer.
inline constexpr std::string_view kBitsAttribute = "qtool.bits";

/// Marks all readers of `id`, a value that a file stores in 4 bits. Throws Error(kUnsupported) when
/// a node other than DequantizeLinear reads it: only DequantizeLinear gives the same result for 4
/// and for 8 bits.
void mark_four_bits(Graph& graph, ValueId id);

/// Whether a node was marked.
bool dequantizes_four_bits(const Node& node);

/// The values that a file stores in 4 bits. They are constants or outputs of Constant nodes. All
/// their readers were marked, and the integers and zero points of these readers fit in 4 bits.
std::set<ValueId> four_bit_values(const Graph& graph);

}  // namespace qtool
