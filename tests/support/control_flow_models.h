#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace qtool {

/// A model in ONNX's text form, with one input `x` of 12 floats in rows of 4.
struct TextModel {
  std::string name;
  std::string text;
};

inline std::ostream& operator<<(std::ostream& out, const TextModel& model) {
  return out << model.name;
}

/// Models with functions and subgraphs of all kinds, for comparisons with other runtimes and as
/// seeds of fuzzers.
inline std::vector<TextModel> control_flow_models() {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n";
  const std::string main = head + "main (float[3, 4] x) => ";
  return {
      {"FunctionInFunction", main + R"((float[3, 4] y) { y = local.Outer <slope: float = 0.3> (x) }
<domain: "local", opset_import: ["" : 17, "local" : 1]>
Outer <slope> (v) => (w) { u = local.Inner <alpha: float = @slope> (v)  w = Add (u, v) }
<domain: "local", opset_import: ["" : 17]>
Inner <alpha> (v) => (w) { n = Neg (v)  w = LeakyRelu <alpha: float = @alpha> (n) })"},
      {"IfOfAShape", main + R"((float[3, 4] y) {
  s = Shape <start = 0, end = 1> (x)
  four = Constant <value = int64[1] {4}> ()
  less = Less (s, four)
  axes = Constant <value = int64[1] {0}> ()
  c = Squeeze (less, axes)
  y = If (c) <
    then_branch = then () => (float[3, 4] t) { t = Exp (x) },
    else_branch = other () => (float[3, 4] e) { e = Neg (x) }
  >
})"},
      {"IfOfTheData", main + R"((float[3, 4] y) {
  zero = Constant <value = float {0}> ()
  sum = ReduceSum <keepdims = 0> (x)
  c = Greater (sum, zero)
  z = Abs (x)
  y = If (c) <
    then_branch = then () => (float[3, 4] t) {
      big = ReduceMax <keepdims = 0> (x)
      limit = Constant <value = float {0.5}> ()
      d = Less (big, limit)
      t = If (d) <
        then_branch = inner () => (float[3, 4] tt) { tt = Add (x, z) },
        else_branch = outer () => (float[3, 4] te) { te = Sub (x, z) }
      >
    },
    else_branch = other () => (float[3, 4] e) { e = Sqrt (z) }
  >
})"},
      {"LoopOfAFixedNumber", main + R"((float[3, 4] y, float[5, 3, 4] all) {
  m = Constant <value = int64 {5}> ()
  c = Constant <value = bool {1}> ()
  y, all = Loop (m, c, x) <
    body = body (int64 i, bool ci, float[3, 4] s) => (bool co, float[3, 4] so, float[3, 4] o) {
      f = Cast <to = 1> (i)
      a = Mul (s, f)
      so = Add (a, x)
      o = Tanh (so)
      co = Identity (ci)
    }
  >
})"},
      {"LoopThatCountsForItself", main + R"((float[3, 4] y) {
  zero = Constant <value = int64 {0}> ()
  c = Constant <value = bool {1}> ()
  m = Constant <value = int64 {9223372036854775807}> ()
  n, y = Loop (m, c, zero, x) <
    body = body (int64 i, bool ci, int64 k, float[3, 4] s) => (bool co, int64 kn, float[3, 4] so) {
      one = Constant <value = int64 {1}> ()
      seven = Constant <value = int64 {7}> ()
      kn = Add (k, one)
      co = Less (kn, seven)
      so = Sin (s)
    }
  >
})"},
      {"LoopOfTheData", main + R"((float[3, 4] y) {
  m = Constant <value = int64 {50}> ()
  c = Constant <value = bool {1}> ()
  y = Loop (m, c, x) <
    body = body (int64 i, bool ci, float[3, 4] s) => (bool co, float[3, 4] so) {
      half = Constant <value = float {0.5}> ()
      limit = Constant <value = float {0.01}> ()
      so = Mul (s, half)
      a = Abs (so)
      big = ReduceMax <keepdims = 0> (a)
      co = Greater (big, limit)
    }
  >
})"},
      {"LoopThatGrowsItsState", main + R"((float[12, 4] y) {
  m = Constant <value = int64 {3}> ()
  y = Loop (m, , x) <
    body = body (int64 i, bool ci, float[N, 4] s) => (bool co, float[M, 4] so) {
      so = Concat <axis = 0> (s, x)
      co = Identity (ci)
    }
  >
})"},
      {"LongLoop", main + R"((float[3, 4] y, float[6000, 4] all) {
  m = Constant <value = int64 {6000}> ()
  y, all = Loop (m, , x) <
    body = body (int64 i, bool ci, float[3, 4] s) => (bool co, float[3, 4] so, float[4] row) {
      near = Constant <value = float {0.999}> ()
      zero = Constant <value = int64 {0}> ()
      so = Mul (s, near)
      row = Gather (so, zero)
      co = Identity (ci)
    }
  >
})"},
      {"ScanForthAndBack", main + R"((float[3] last, float[3, 4] y) {
  two = Constant <value = int64[1] {1}> ()
  first = ReduceSum <keepdims = 0> (x, two)
  last, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
                  scan_input_directions = [1], scan_output_directions = [1],
    body = body (float[3] a, float[3] e) => (float[3] b, float[3] o) {
      b = Add (a, e)
      o = Mul (b, e)
    }
  > (first, x)
})"},
      {"LoopInAFunctionInAnIf", main + R"((float[3, 4] y) {
  c = Constant <value = bool {1}> ()
  y = If (c) <
    then_branch = then () => (float[3, 4] t) { t = local.Power <times: int = 3> (x) },
    else_branch = other () => (float[3, 4] e) { e = Neg (x) }
  >
}
<domain: "local", opset_import: ["" : 17]>
Power <times> (v) => (w) {
  m = Constant <value_int: int = @times> ()
  w = Loop (m, , v) <
    body = body (int64 i, bool ci, float[3, 4] s) => (bool co, float[3, 4] so) {
      so = Mul (s, v)
      co = Identity (ci)
    }
  >
})"},
  };
}

}  // namespace qtool
