#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "qtool/graph/graph.h"

// Nodes of a file, before a Graph knows them.
namespace qtool {

/// ONNX's own operators have two spellings of their domain; this is the empty one.
std::string plain_domain(const std::string& domain);

/// The field of an attribute that is in use. Since IR version 2 it says so itself.
int type_of(const onnx::AttributeProto& proto);

/// How messages name a node, as Graph::describe() does later.
std::string describe(const onnx::NodeProto& node);

/// Whether an attribute of a node is a subgraph that its operator runs: of If, Loop and Scan.
bool is_run(const onnx::NodeProto& node, const onnx::AttributeProto& attribute);

/// Throws Error(kUnsupported) when an input or output, `role` says of what, is not a tensor of a
/// type that qtool has.
void require_tensor(const onnx::ValueInfoProto& info, std::string_view role);

/// The shape that a file declares for a tensor, if it does. Throws Error(kUnsupported) for more
/// than kMaxRank axes.
std::optional<std::vector<Dim>> declared_shape(const onnx::ValueInfoProto& info);

/// An attribute that is no subgraph; `node` describes whose. Throws Error(kInvalidModel) and
/// Error(kUnsupported) as TensorReader::read() does, and for types that Graph does not have.
Attribute read_attribute(const onnx::AttributeProto& proto, std::string_view node,
                         TensorReader& tensors);

/// The same for the value of a Constant, whose integers may have 4 bits.
Attribute read_constant(const onnx::AttributeProto& proto, std::string_view node,
                        TensorReader& tensors);

}  // namespace qtool
