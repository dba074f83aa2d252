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
  for (const std::string& item : items) text += concat(text.empty() ? "" : ", ", item);
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
  for (const Arity& row : arities()) first.try_emplace(std::string(row.op_type), row.since);
  return first;
}

bool runs_on_integers(std::string_view op) {
  return std::ranges::any_of(targets(), [&](const Target& target) {
    return std::ranges::find(target.ops, op) != target.ops.end();
  });
}

std::string row_of(const std::string& op, std::int64_t since, const Tally& tally) {
  const bool elsewhere = std::ranges::find(kJudgedByOnnxRuntime, op) != kJudgedByOnnxRuntime.end();
  std::string cases = tally.total == 0 ? "" : concat(tally.passed, " of ", tally.total);
  if (elsewhere) cases = "ONNX Runtime";
  const std::string how = traits_of(op).runs ? "yes" : "rewritten";
  return concat("| ", op, " | ", since, " | ", joined(tally.types), " | ", how, " | ",
                runs_on_integers(op) ? "yes" : "", " | ", cases, " |\n");
}

// The operators of com.microsoft that prepare() rewrites, in lines of the page.
std::string microsoft_operators() {
  constexpr std::size_t kColumns = 100;
  std::string text;
  std::size_t column = 0;
  for (const Arity& row : microsoft_arities()) {
    const std::string item = concat(text.empty() ? "" : ",", text.empty() ? "" : " ", row.op_type);
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
      excluded_rows += concat("| ", op, " | ", reason->second, " |\n");
    } else {
      open += concat(open.empty() ? "" : ", ", op);
    }
  }
  const std::vector<CaseResult>& suite = tests::backend_suite();
  const auto passed = std::ranges::count(suite, Verdict::kPassed, &CaseResult::verdict);
  return concat(
      "# Operators\n\n"
      "For whoever wants to know whether a model runs. Made by `tools/operators_page.sh` of the\n"
      "operator table and a run of ONNX's backend suite; `qtool_nodes_tests` fails when it is\n"
      "stale. ",
      operators, " operators of `ai.onnx` run. Of the ", suite.size(),
      " cases of the suite as installed,\n", passed,
      " pass; `tests/nodes/exceptions.txt` lists the cases of these operators that do not, and\n"
      "why.\n\n"
      "- opset: the first one that has the operator. Older forms are rewritten to opset 17, newer\n"
      "  ones up to 22 as well, except for what opset 17 cannot say: a model with that is saved "
      "in\n"
      "  the opset that can (`src/graph/upgrade/newer.inc`).\n"
      "- types: of the first input, as far as cases pass. float16 and bfloat16 are widened to\n"
      "  float32 when the model is prepared. Constants of int4 and uint4, which only\n"
      "  DequantizeLinear may read, are computed with in 8 bits and written in 4; in blocks\n"
      "  (`block_size`) they become float32.\n"
      "- FP32: `rewritten` into other operators of this table when the model is prepared.\n"
      "- INT8: a target places it on integers.\n"
      "- cases: how many of those that hold the operator pass; operators without one are compared\n"
      "  with ONNX Runtime (`tests/interop`).\n\n"
      "Functions that a model defines become the nodes of each call. An If whose condition is "
      "known,\n"
      "and a Loop or Scan of which it is known how often it runs, become the nodes of their "
      "subgraphs:\n"
      "when the model is prepared, so that they are quantized like any others, where the model "
      "itself or\n"
      "fixed shapes of its inputs tell; when it is compiled, in FP32, where the shapes of a run "
      "do. Up\n"
      "to 4096 nodes then come of the loops of a prepared model, 16384 of those of a plan. What "
      "only the\n"
      "data decides runs its subgraphs as they are, in FP32: the branches of an If must give "
      "the same\n"
      "shapes, the states of a Loop must keep theirs, and outputs that gather a slice of each "
      "iteration\n"
      "need a known number of them.\n\n"
      "The shape of what NonZero, Compress, Unique and NonMaxSuppression make depends on data; "
      "they\n"
      "run where that data is constant. At the end of a network, such as a detector that selects "
      "its\n"
      "boxes, they and what follows from them are left out with a warning, and so are operators "
      "that\n"
      "nothing here runs (`EfficientNMS_TRT`): calibration and comparisons take the tensors before "
      "them\n"
      "as outputs, and the quantized model keeps that end as it is. An end that multiplies with "
      "weights\n"
      "is not left out; the model is refused.\n\n"
      "| operator | opset | types | FP32 | INT8 | cases |\n|---|---:|---|---|---|---|\n",
      runs,
      "\n## ONNX Runtime's own\n\n"
      "What ONNX Runtime's quantizer and optimizer write in the domain `com.microsoft` is "
      "rewritten\n"
      "into the operators above when the model is prepared. Integers become QuantizeLinear and\n"
      "DequantizeLinear around the real operator, which then runs on our integer kernels where "
      "there\n"
      "are such; what is written back is ONNX without that domain. `tests/interop` compares them\n"
      "with ONNX Runtime.\n\n",
      microsoft_operators(),
      ".\n\n"
      "- Scales may be computed, but only constant ones run on integers.\n"
      "- FusedConv and FusedGemm take the activations Clip, Elu, HardSigmoid, HardSwish, "
      "LeakyRelu,\n"
      "  Relu, Selu, Sigmoid, Silu, Softplus, Softsign, Tanh and ThresholdedRelu.\n"
      "- FusedMatMul and channels_last of QLinearGlobalAveragePool need inputs of known rank.\n"
      "- MatMulNBits: weights of 2, 4 or 8 bits, constant, without groups (`g_idx`); they become\n"
      "  float32.\n"
      "- QuantizeLinear and DequantizeLinear: 8 and 16 bits, and int32 for the latter. 16 bits "
      "run\n"
      "  in FP32; such a model is saved in opset 21.\n"
      "- DynamicQuantizeLSTM: its hidden state is rounded to 16 bits, in ONNX Runtime to 8.\n"
      "- Not read: Attention and the other operators of language models, QLinearReduceMean, and "
      "the\n"
      "  domain `com.microsoft.nchwc`, which is for one processor only.\n"
      "\n## Not yet\n\n",
      open, ".\n\n## Out of scope\n\n| operator | reason |\n|---|---|\n", excluded_rows);
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
