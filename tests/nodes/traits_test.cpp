// Compares the traits of operators with the models of ONNX's backend suite, which declare the types
// and shapes of their results.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "graph/op_traits.h"
#include "graph/rank.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "quantize/placement/element_types.h"
#include "support/absent.h"
#include "support/places.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

TEST(Traits, TellTypesAndRanksOfTheBackendSuite) {
  const fs::path suite = fs::path(kOnnxTestData) / "node";
  if (!fs::exists(suite)) GTEST_SKIP() << absent(suite);
  std::set<std::string> typed;
  std::set<std::string> ranked;
  for (const fs::directory_entry& entry : fs::directory_iterator(suite)) {
    const fs::path file = entry.path() / "model.onnx";
    if (!fs::exists(file)) continue;
    SCOPED_TRACE(file.string());
    Graph graph;
    try {
      graph = load_onnx(file);
    } catch (const Error&) {
      continue;  // unsupported sequences, strings or opsets; other tests list them
    }
    if (graph.nodes().size() != 1) continue;
    const Node node = graph.node(graph.nodes()[0]);
    if (!node.domain.empty() || !traits_of(node).runs) continue;
    std::vector<Value> declared;
    for (const ValueId output : node.outputs) {
      declared.push_back(output == kNoValue ? Value{} : graph.value(output));
      if (output != kNoValue) graph.declare(output, std::nullopt, std::nullopt);
    }
    const auto types = element_types(graph);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const auto& type = types[node.outputs[i]];
      if (type && declared[i].dtype) {
        EXPECT_EQ(name_of(*type), name_of(*declared[i].dtype)) << node.op_type << " output " << i;
        typed.insert(node.op_type);
      }
      const auto rank = i == 0 ? rank_of(graph, node.outputs[0]) : std::nullopt;
      if (rank && declared[i].shape) {
        EXPECT_EQ(*rank, static_cast<std::int64_t>(declared[i].shape->size())) << node.op_type;
        ranked.insert(node.op_type);
      }
    }
  }
  std::size_t with_rank = 0;
  std::size_t running = 0;
  for (const OpTraits& row : all_op_traits()) {
    with_rank += row.rank == RankRule::kUnknown ? 0 : 1;
    running += row.runs ? 1 : 0;
  }
  EXPECT_GT(typed.size(), running * 3 / 4);
  EXPECT_GT(ranked.size(), with_rank * 3 / 4);
}

}  // namespace
}  // namespace qtool
