// docs/operators.md is generated from the operator table and the outcomes of the backend suite. If
// QTOOL_WRITE_PAGES is set (by tools/operators_page.sh), this test writes the page; otherwise it
// compares the page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "graph/arity.h"
#include "graph/obstacles.h"
#include "graph/op_traits.h"
#include "nodes/backend_suite.h"
#include "qtool/quantize/target.h"
#include "support/absent.h"
#include "support/judged_operators.h"
#include "support/places.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using tests::CaseResult;
using tests::Verdict;

std::map<std::string, std::string> reasons_out_of_scope() {
  std::ifstream file(fs::path(kSourceFolder) / "tests/nodes/out_of_scope.txt");
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("#") || colon == std::string::npos) continue;
    reasons[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return reasons;
}

std::string joined(const std::set<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += to_text(text.empty() ? "" : ", ", item);
  return text;
}

/// The outcomes of the cases of one operator.
struct Tally {
  int passed = 0;
  int total = 0;
  std::set<std::string> types;
};

std::map<std::string, Tally> tallies() {
  std::map<std::string, Tally> all;
  for (const CaseResult& result : tests::backend_suite()) {
    for (const std::string& op : result.operators) {
      Tally& tally = all[op];
      ++tally.total;
      if (result.verdict != Verdict::kPassed) continue;
      ++tally.passed;
      const auto types = result.types.find(op);
      if (types != result.types.end()) {
        tally.types.insert(types->second.begin(), types->second.end());
      }
    }
  }
  return all;
}

// The first opset of every operator of ONNX's own domain.
std::map<std::string, std::int64_t> first_opsets() {
  std::map<std::string, std::int64_t> first;
  for (const OpTraits& traits : all_op_traits()) {
    if (const Arity* arity = find_arity(traits.op_type, 1)) {
      first.emplace(traits.op_type, arity->since);
    }
  }
  return first;
}

bool runs_on_integers(std::string_view op) {
  return std::ranges::any_of(targets(), [&](const Target& target) {
    return std::ranges::find(target.ops, op) != target.ops.end();
  });
}

std::string row_of(const std::string& op, std::int64_t since, const Tally& tally) {
  const bool elsewhere = std::ranges::find(kJudgedByOnnxRuntime, op) != kJudgedByOnnxRuntime.end();
  std::string cases = tally.total == 0 ? "" : to_text(tally.passed, " of ", tally.total);
  if (elsewhere) cases = "ONNX Runtime";
  const std::string how = traits_of(op).runs ? "yes" : "rewritten";
  return to_text("| ", op, " | ", since, " | ", joined(tally.types), " | ", how, " | ",
                 runs_on_integers(op) ? "yes" : "", " | ", cases, " |\n");
}

// The operators of com.microsoft that prepare() rewrites, in lines of the page.
std::string microsoft_operators() {
  constexpr std::size_t kColumns = 100;
  std::string text;
  std::size_t column = 0;
  for (const MicrosoftOperator& row : qtool::microsoft_operators()) {
    const std::string item = to_text(text.empty() ? "" : ",", text.empty() ? "" : " ", row.op_type);
    if (column + item.size() + 1 > kColumns) {
      text += ",\n";
      text += row.op_type;
      column = row.op_type.size();
    } else {
      text += item;
      column += item.size();
    }
  }
  return text;
}

std::string page() {
  const std::map<std::string, std::string> excluded = reasons_out_of_scope();
  const std::map<std::string, Tally> counts = tallies();
  std::string runs;
  std::string open;
  std::string excluded_rows;
  int operators = 0;
  for (const auto& [op, since] : first_opsets()) {
    const auto reason = excluded.find(op);
    const auto tally = counts.find(op);
    if (is_runnable(op, "")) {
      ++operators;
      runs += row_of(op, since, tally == counts.end() ? Tally{} : tally->second);
    } else if (reason != excluded.end()) {
      excluded_rows += to_text("| ", op, " | ", reason->second, " |\n");
    } else {
      open += to_text(open.empty() ? "" : ", ", op);
    }
  }
  const std::vector<CaseResult>& suite = tests::backend_suite();
  const auto passed = std::ranges::count(suite, Verdict::kPassed, &CaseResult::verdict);
  return to_text(
      "# Operators\n\n"
      "This page is for users who want to know whether a model runs. `tools/operators_page.sh` "
      "makes it\n"
      "from the operator table and a run of ONNX's backend suite. `qtool_nodes_tests` fails when "
      "it is\n"
      "stale. ",
      operators, " operators of `ai.onnx` run. The installed suite has ", suite.size(),
      " cases, and ", passed,
      " of them pass.\n"
      "`tests/nodes/exceptions.txt` lists the cases of these operators that do not pass, and "
      "why.\n\n"
      "The columns of the table:\n\n"
      "- opset: the first opset that has the operator. Older forms are rewritten to opset 17. "
      "Newer forms\n"
      "  up to opset 22 are rewritten too, unless opset 17 cannot express them. A model with such "
      "a form\n"
      "  is saved in an opset that can (`src/graph/operators.inc`).\n"
      "- types: the types of the first input in the cases that pass. float16 and bfloat16 are "
      "widened to\n"
      "  float32 when the model is prepared. Only DequantizeLinear may read constants of int4 and "
      "uint4.\n"
      "  They are computed with in 8 bits and written in 4 bits. Constants with scales for "
      "blocks\n"
      "  (`block_size`) become float32.\n"
      "- FP32: `yes` if the operator runs, `rewritten` if it becomes other operators of this "
      "table when\n"
      "  the model is prepared.\n"
      "- INT8: `yes` if a target places the operator on integers.\n"
      "- cases: how many of the cases with the operator pass. `ONNX Runtime`: the suite has no "
      "case, and\n"
      "  the operator is compared with ONNX Runtime instead (`tests/interop`).\n\n"
      "A call of a function that the model defines becomes the nodes of the function. An If "
      "becomes the\n"
      "nodes of one branch if its condition is known. A Loop or Scan becomes copies of its body "
      "if the\n"
      "number of iterations is known. This happens at one of two times:\n\n"
      "- When the model is prepared, if the model itself or fixed shapes of its inputs determine "
      "the\n"
      "  condition or the number. The nodes are then quantized like any others. The loops of a "
      "prepared\n"
      "  model may become up to 4096 nodes.\n"
      "- When the model is compiled, if the shapes of a run determine it. The nodes then run in "
      "FP32. The\n"
      "  loops of a plan may become up to 16384 nodes.\n\n"
      "If only the data determines it, the subgraphs run as they are, in FP32. The branches of an "
      "If must\n"
      "then give the same shapes, and the states of a Loop must keep their shapes. Outputs that "
      "gather a\n"
      "slice of each iteration need a known number of iterations.\n\n"
      "The shape of the results of NonZero, Compress, Unique and NonMaxSuppression depends on "
      "data. These\n"
      "operators run where that data is constant. They may also stand at the end of a network, "
      "such as a\n"
      "detector that selects its boxes. Then they and the nodes that depend on them are left out, "
      "with a\n"
      "warning. The same holds for operators that nothing here runs (`EfficientNMS_TRT`). "
      "Calibration and\n"
      "comparisons take the tensors before this end as outputs, and the quantized model keeps the "
      "end as\n"
      "it is. If the end multiplies with weights, the model is refused.\n\n"
      "| operator | opset | types | FP32 | INT8 | cases |\n"
      "|---|---:|---|---|---|---|\n",
      runs,
      "\n"
      "## ONNX Runtime's own\n\n"
      "ONNX Runtime's quantizer and optimizer write operators in the domain `com.microsoft`. They "
      "are\n"
      "rewritten into the operators above when the model is prepared. Operators on integers "
      "become real\n"
      "operators with QuantizeLinear and DequantizeLinear around them. They run on our integer "
      "kernels\n"
      "where such kernels exist. A saved model is ONNX without that domain. `tests/interop` "
      "compares the\n"
      "results with ONNX Runtime. These operators are rewritten:\n\n",
      microsoft_operators(),
      ".\n\n"
      "- Scales may be computed, but only constant ones run on integers.\n"
      "- FusedConv and FusedGemm take the activations Clip, Elu, HardSigmoid, HardSwish, "
      "LeakyRelu,\n"
      "  Relu, Selu, Sigmoid, Silu, Softplus, Softsign, Tanh and ThresholdedRelu.\n"
      "- FusedMatMul needs inputs of known rank, and so does QLinearGlobalAveragePool with "
      "channels_last.\n"
      "- MatMulNBits: constant weights of 2, 4 or 8 bits, without groups (`g_idx`). They become "
      "float32.\n"
      "- QuantizeLinear and DequantizeLinear: 8 and 16 bits. DequantizeLinear also reads int32. "
      "Operators\n"
      "  with 16 bits run in FP32, and a model with them is saved in opset 21.\n"
      "- DynamicQuantizeLSTM: qtool rounds the hidden state to 16 bits, ONNX Runtime to 8.\n"
      "- Not supported: Attention and the other operators of language models, QLinearReduceMean, "
      "and the\n"
      "  domain `com.microsoft.nchwc`, which is for one processor only.\n\n"
      "## Not yet\n\n",
      open.empty() ? std::string("None") : open,
      ".\n\n## Out of scope\n\n| operator | reason |\n|---|---|\n", excluded_rows);
}

TEST(OperatorsPage, IsWhatTheTestsSay) {
  if (tests::backend_suite().empty()) GTEST_SKIP() << absent(kOnnxTestData);
  const fs::path path = fs::path(kSourceFolder) / "docs/operators.md";
  const std::string made = page();
  if (std::getenv("QTOOL_WRITE_PAGES") != nullptr) write_file(path, made);
  const std::string stored = fs::exists(path) ? read_file(path, 1 << 22) : std::string();
  EXPECT_TRUE(stored == made) << "docs/operators.md is stale: run tools/operators_page.sh";
}

TEST(OperatorsPage, ExcludesNothingThatRuns) {
  for (const auto& [op, reason] : reasons_out_of_scope()) {
    EXPECT_FALSE(is_runnable(op, "")) << op;
    EXPECT_NE(find_arity(op, 17), nullptr) << op << " is no operator of ONNX";
  }
}

}  // namespace
}  // namespace qtool
