#pragma once

#include <vector>

#include "support/control_flow_models.h"

namespace qtool {

/// Networks that end in a node that no plan can hold, as seeds for fuzzers. The node's number of
/// results depends on the data, or its operator is unknown. The node is in the graph, in a subgraph
/// or in a function.
inline std::vector<TextModel> tail_models() {
  const std::string head =
      "<ir_version: 8, opset_import: [\"\" : 17, \"TRT\" : 1, \"local\" : 1]>\n"
      "main (float[3, 4] x) => ";
  return {
      {"TailOfASelection", head + R"((float[N, 3] y, float[3, 4] z)
  <int64[1] most = {2}, int64[3] boxes_shape = {1, 3, 4}, int64[3] scores_shape = {1, 2, 3}> {
  z = Sigmoid (x)
  boxes = Reshape (z, boxes_shape)
  half, other = Split <axis = 1> (x)
  scores = Reshape (half, scores_shape)
  chosen = NonMaxSuppression (boxes, scores, most)
  y = Cast <to = 1> (chosen)
})"},
      {"TailOfAnUnknownOperator", head + R"((float[3, 4] y, float[3, 4] z) {
  a = Exp (x)
  b = Neg (a)
  y, z = TRT.Unknown <alpha = 0.5> (a, b)
})"},
      {"TailOfACount",
       head + R"((float[K] y, int64[K] at) <int64[1] flat = {-1}, int64[1] one = {1}> {
  all = Reshape (x, flat)
  most = ReduceMax <keepdims = 0> (all)
  count = Cast <to = 7> (most)
  k = Reshape (count, one)
  y, at = TopK (all, k)
})"},
      {"TailInABranch", head + R"((float[N, M] y, float[3, 4] z) <float zero = {0}> {
  z = Abs (x)
  sum = ReduceSum <keepdims = 0> (x)
  c = Greater (sum, zero)
  y = If (c) <
    then_branch = then () => (float[N, M] t) { places = NonZero (z)  t = Cast <to = 1> (places) },
    else_branch = other () => (float[N, M] e) { e = Identity (z) }
  >
})"},
      {"TailInALoop", head + R"((float[K, 3, 4] y) <float zero = {0}, bool yes = {1}> {
  z = Abs (x)
  most = ReduceMax <keepdims = 0> (z)
  trips = Cast <to = 7> (most)
  last, y = Loop (trips, yes, x) <
    body = body (int64 i, bool c, float[3, 4] state) => (bool d, float[3, 4] next, float[3, 4] row) {
      d = Identity (c)
      next = Add (state, z)
      row = Mul (next, z)
    }
  >
})"},
      {"TailInAFunction", head + R"((float[N] y) { a = Relu (x)  y = local.Last (a) }
<domain: "local", opset_import: ["" : 17]>
Last (v) => (w) { w, i, j, k = Unique (v) })"},
  };
}

}  // namespace qtool
