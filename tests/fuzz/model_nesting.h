// Mutations that give a model subgraphs, functions and a tail.
#pragma once

#include "graph/onnx/proto.h"
#include "random.h"

namespace qtool::fuzz {

/// Moves a node into both branches of an If, which capture its operands.
void enclose_in_if(Random& random, onnx::GraphProto& graph);
/// Moves a node into the body of a Loop, which captures all operands but the first.
void enclose_in_loop(Random& random, onnx::GraphProto& graph);
/// Adds nodes after a tensor that no plan can hold: their number of results depends on the data, or
/// their operator is unknown.
void add_tail(Random& random, onnx::GraphProto& graph);
/// Moves a node into a function of its own, which it then calls.
void move_to_function(Random& random, onnx::ModelProto& model);

}  // namespace qtool::fuzz
