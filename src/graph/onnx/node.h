#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx/proto.h"
#include "graph/onnx/tensor.h"
#include "qtool/graph/graph.h"

// Functions for the nodes of a model file, before they become nodes of a Graph.
namespace qtool {

/// The domain in one spelling: "ai.onnx" becomes "", because ONNX's own domain has both spellings.
std::string plain_domain(const std::string& domain);

/// The type of an attribute. Since IR version 2 the attribute states its type; in older versions it
/// follows from the field in use.
int type_of(const onnx::AttributeProto& proto);

/// The name of a node in messages, in the same form as Graph::describe().
std::string describe(const onnx::NodeProto& node);

/// Whether an attribute of a node is a subgraph that its operator runs. Only If, Loop and Scan run
/// subgraphs.
bool is_run(const onnx::NodeProto& node, const onnx::AttributeProto& attribute);

/// Throws Error(kUnsupported) when an input or output is not a tensor of a type that qtool has.
/// `role` describes it in the message, for example `graph input`.
void require_tensor(const onnx::ValueInfoProto& info, std::string_view role);

/// The shape that a file declares for a tensor, if it does. Throws Error(kUnsupported) for more
/// than kMaxRank axes.
std::optional<std::vector<Dim>> declared_shape(const onnx::ValueInfoProto& info);

/// Reads an attribute that is not a subgraph. `node` describes its node in messages. Throws
/// Error(kInvalidModel) and Error(kUnsupported) as TensorReader::read() does, and for types that
/// Graph does not have.
Attribute read_attribute(const onnx::AttributeProto& proto, std::string_view node,
                         TensorReader& tensors);

/// Like read_attribute(), for the value of a Constant node, whose integers may have 4 bits.
Attribute read_constant(const onnx::AttributeProto& proto, std::string_view node,
                        TensorReader& tensors);

}  // namespace qtool
