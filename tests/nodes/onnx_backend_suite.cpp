#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "base/text.h"
#include "graph/obstacles.h"
#include "graph/onnx/tensor.h"
#include "nodes/backend_suite.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/places.h"

namespace qtool::tests {
namespace {

namespace fs = std::filesystem;

// prepare() widens half precision, so the inputs and the expected outputs of a case are, too.
Tensor widened(const Tensor& tensor) {
  const bool half = tensor.dtype() == DType::kFloat16 || tensor.dtype() == DType::kBFloat16;
  return half ? to_float32(tensor) : tensor.clone();
}

Tensor read_tensor(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    throw Error(ErrorCode::kUnsupported, "a test value is not a tensor");
  }
  return TensorReader(path.parent_path()).read(proto, path.filename().string());
}

std::vector<Tensor> read_tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = folder / to_text(prefix, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(widened(read_tensor(path)));
  }
}

bool close(double found, double expected) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::abs(found - expected) <= 1e-5 + 1e-3 * std::abs(expected);
}

// Whether results of this type are compared with a tolerance. All other types are compared bit by
// bit, also half precision.
bool is_rounded(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

// Describes how the tensors differ; empty if they agree.
std::string difference(const TensorView& found, const Tensor& expected) {
  if (found.dtype != expected.dtype()) {
    return to_text("found type ", name_of(found.dtype), ", expected ", name_of(expected.dtype()));
  }
  if (found.shape != expected.shape()) {
    return to_text("found shape ", found.shape.to_string(), ", expected ",
                   expected.shape().to_string());
  }
  const Tensor own = to_tensor(found);
  if (!is_rounded(found.dtype)) {
    return identical(own, expected) ? "" : "found other integers than expected";
  }
  const bool single = found.dtype == DType::kFloat32;
  for (std::size_t i = 0; i < static_cast<std::size_t>(own.elements()); ++i) {
    const double a = single ? static_cast<double>(own.values<float>()[i]) : own.values<double>()[i];
    const double b =
        single ? static_cast<double>(expected.values<float>()[i]) : expected.values<double>()[i];
    if (!close(a, b)) return to_text("element ", i, " is ", a, ", expected ", b);
  }
  return "";
}

enum class Constants { kNone, kAllButFirst, kAll };

// Runs the loaded model and describes the first output that differs; empty if all outputs agree.
std::string execute(const Graph& loaded, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& expected, Constants constants) {
  Graph graph = loaded;
  InputShapes shapes;
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const ValueId id = graph.inputs()[i];
    shapes.emplace(graph.value(id).name, inputs[i].shape());
    if (constants == Constants::kAll || (constants == Constants::kAllButFirst && i > 0)) {
      graph.set_constant(id, std::make_shared<const Tensor>(inputs[i].clone()));
    }
  }
  const Executor executor(prepare(std::move(graph)));
  for (const Lowering lowering : {Lowering::kReference, Lowering::kInteger}) {
    if (executor.left_out()) {
      throw Error(ErrorCode::kUnsupported,
                  to_text(executor.left_out()->reason, "; only constants are supported"));
    }
    CompileOptions options;
    options.lowering = lowering;
    const auto plan = executor.compile(shapes, options);
    Workspace workspace;
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const auto outputs = plan->run(views, workspace);
    if (outputs.size() != expected.size()) {
      return to_text("found ", outputs.size(), " outputs, expected ", expected.size());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::string text = difference(outputs[i], expected[i]);
      if (!text.empty()) return to_text("output ", i, ": ", text);
    }
  }
  return "";
}

}  // namespace

bool is_claimed(const std::string& op_type) { return is_runnable(op_type, ""); }

const std::vector<CaseResult>& backend_suite() {
  static const std::vector<CaseResult> kResults = [] {
    std::vector<fs::path> folders;
    const fs::path data = kOnnxTestData;
    for (const char* suite : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
      if (!fs::exists(data / suite)) continue;
      for (const fs::directory_entry& entry : fs::directory_iterator(data / suite)) {
        if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
      }
    }
    std::sort(folders.begin(), folders.end());
    std::vector<CaseResult> results;
    for (const fs::path& folder : folders) results.push_back(run_case(folder));
    return results;
  }();
  return kResults;
}

CaseResult run_case(const fs::path& folder) {
  CaseResult result;
  result.name = to_text(folder.parent_path().filename().string(), "/", folder.filename().string());
  std::optional<Graph> graph;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
  try {
    graph = load_onnx(folder / "model.onnx");
    inputs = read_tensors(folder / "test_data_set_0", "input");
    expected = read_tensors(folder / "test_data_set_0", "output");
  } catch (const Error& error) {
    result.verdict =
        error.code() == ErrorCode::kUnsupported ? Verdict::kUnclaimed : Verdict::kFailed;
    result.reason = to_text("cannot be stored: ", error.what());
    return result;
  }
  for (const NodeId id : graph->nodes()) {
    const Node& node = graph->node(id);
    result.operators.insert(node.op_type);
    if (node.has_input(0) && graph->value(node.inputs[0]).dtype) {
      result.types[node.op_type].emplace(name_of(*graph->value(node.inputs[0]).dtype));
    }
    if (node.domain.empty() && is_claimed(node.op_type)) continue;
    result.verdict = Verdict::kUnclaimed;
    result.reason = to_text("operator ", node.op_type);
    return result;
  }
  for (const Constants constants : {Constants::kNone, Constants::kAllButFirst, Constants::kAll}) {
    try {
      result.reason = execute(*graph, inputs, expected, constants);
      result.verdict = result.reason.empty() ? Verdict::kPassed : Verdict::kFailed;
      return result;
    } catch (const Error& error) {
      result.reason = error.what();
      result.verdict =
          error.code() == ErrorCode::kUnsupported ? Verdict::kUnsupported : Verdict::kFailed;
      if (result.reason.find("only constants are supported") == std::string::npos) return result;
    }
  }
  return result;
}

}  // namespace qtool::tests
