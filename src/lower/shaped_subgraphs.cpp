#include "lower/shaped_subgraphs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

std::string text_of(const ValueInfo& info) {
  return to_text(name_of(info.dtype), info.shape.to_string());
}

bool is_same(const ValueInfo& a, const ValueInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

class SubgraphShaper {
 public:
  SubgraphShaper(ShapedGraph& shaped, NodeId id, ExpandBudget& budget)
      : shaped_(shaped), id_(id), budget_(budget) {}

  std::vector<ValueInfo> shape_if() {
    require_steering(0, "condition", DType::kBool);
    std::vector<ValueInfo> outputs;
    for (const char* branch : {"else_branch", "then_branch"}) {  // the order of the attributes
      const SubgraphUse use = subgraph_of(shaped_.graph, id_, branch);
      std::vector<ValueInfo> found = shape(use, {});
      for (std::size_t i = 0; i < std::min(outputs.size(), found.size()); ++i) {
        if (is_same(outputs[i], found[i])) continue;
        fail(to_text("the data decides which branch runs, and output ", i, " is ",
                     text_of(outputs[i]), " of one and ", text_of(found[i]),
                     " of the other; expected the same of both"));
      }
      outputs = std::move(found);
    }
    finish();
    return outputs;
  }

  std::vector<ValueInfo> shape_loop() {
    const LoopParts parts = parts_of_loop(shaped_.graph, id_);
    const Node& node = shaped_.graph.node(id_);
    if (node.has_input(0)) require_steering(0, "trip count", DType::kInt64);
    if (node.has_input(1)) require_steering(1, "condition", DType::kBool);
    std::vector<KnownValue> own(2);
    own[0].dtype = DType::kInt64;
    own[1].dtype = DType::kBool;
    own[0].shape = own[1].shape = std::vector<Dim>();
    std::vector<ValueInfo> states;
    for (std::size_t i = 0; i < parts.states; ++i) {
      own.push_back(known_of(shaped_, node.inputs[2 + i]));
      own.back().constant = nullptr;  // the state changes
      states.push_back(shaped_.info(node.inputs[2 + i]));
    }
    const std::vector<ValueInfo> found = shape(parts.body, own);
    require_one(found[0], "condition that its body computes", DType::kBool);
    for (std::size_t i = 0; i < parts.states; ++i) {
      if (is_same(states[i], found[1 + i])) continue;
      fail(to_text("state ", i, " is ", text_of(states[i]), " before an iteration and ",
                   text_of(found[1 + i]),
                   " after it; expected the same, as the data decides how often it runs or it runs "
                   "too often to be unrolled"));
    }
    add_scans(parts, found, known_trips(), states);
    finish();
    return states;
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw Error(ErrorCode::kUnsupported, to_text(shaped_.graph.describe(id_), ": ", message));
  }

  void require_one(const ValueInfo& info, std::string_view what, DType dtype) const {
    if (info.dtype == dtype && info.shape.elements() == 1) return;
    throw Error(ErrorCode::kInvalidModel,
                to_text(shaped_.graph.describe(id_), ": the ", what, " is ", text_of(info),
                        ", expected one ", name_of(dtype)));
  }

  void require_steering(std::size_t input, std::string_view what, DType dtype) const {
    require_one(shaped_.info(shaped_.graph.node(id_).inputs.at(input)), what, dtype);
  }

  // `own`: the known facts about the inputs that come before the captured ones. Returns type and
  // shape of the outputs.
  std::vector<ValueInfo> shape(const SubgraphUse& use, std::vector<KnownValue> own) {
    const Graph& graph = use.subgraph->graph;
    for (const ValueId value : use.captured) own.push_back(known_of(shaped_, value));
    if (graph.inputs().size() != own.size()) {
      fail(
          to_text(use.attribute, " has ", graph.inputs().size(), " inputs, expected ", own.size()));
    }
    const std::size_t wanted = shaped_.graph.node(id_).outputs.size();
    if (graph.outputs().size() < wanted) {
      fail(to_text(use.attribute, " has ", graph.outputs().size(), " outputs, expected ", wanted));
    }
    BoundGraph bound = bind_inputs(graph, own);
    auto subgraph = std::make_shared<ShapedSubgraph>();
    subgraph->shaped = specialize(bound.graph, budget_);
    subgraph->inputs = std::move(bound.inputs);
    std::vector<ValueInfo> outputs;
    for (const ValueId output : subgraph->shaped.graph.outputs()) {
      outputs.push_back(subgraph->shaped.info(output));
    }
    params_.subgraphs.push_back(std::move(subgraph));
    return outputs;
  }

  // The number of iterations, if constants alone decide it.
  [[nodiscard]] std::optional<std::int64_t> known_trips() const {
    const Node& node = shaped_.graph.node(id_);
    if (!always_continues(params_.subgraphs.front()->shaped.graph)) return std::nullopt;
    if (node.has_input(1)) {
      const auto begins = steering_value<bool>(known_of(shaped_, node.inputs[1]), "Loop");
      if (!begins) return std::nullopt;
      if (!*begins) return 0;
    }
    if (!node.has_input(0)) fail("runs without an end");
    const auto trips = steering_value<std::int64_t>(known_of(shaped_, node.inputs[0]), "Loop");
    if (trips && *trips > kMaxTrips) {
      fail(to_text("runs ", *trips, " times, at most ", kMaxTrips, " are accepted"));
    }
    return trips;
  }

  // Appends type and shape of the outputs that gather a slice of each iteration to `outputs`.
  void add_scans(const LoopParts& parts, const std::vector<ValueInfo>& found,
                 const std::optional<std::int64_t>& trips, std::vector<ValueInfo>& outputs) {
    for (std::size_t i = 0; i < parts.scans; ++i) {
      if (!shaped_.graph.node(id_).has_output(parts.states + i)) continue;
      if (trips.value_or(0) < 1) {
        fail(to_text("the data decides how often it runs, and so the length of output ",
                     parts.states + i, "; only constants are supported"));
      }
      const ValueInfo& slice = found[1 + parts.states + i];
      std::vector<std::int64_t> dims = {*trips};
      dims.insert(dims.end(), slice.shape.dims().begin(), slice.shape.dims().end());
      outputs.resize(parts.states + i + 1);
      outputs[parts.states + i] = {slice.dtype, Shape(std::move(dims))};
    }
  }

  void finish() { shaped_.set_params(id_, std::move(params_)); }

  ShapedGraph& shaped_;
  NodeId id_;
  ExpandBudget& budget_;
  SubgraphParams params_;
};

}  // namespace

KnownValue known_of(const ShapedGraph& shaped, ValueId id) {
  KnownValue known;
  if (id == kNoValue) return known;
  known.constant = shaped.graph.value(id).constant;
  if (!shaped.infos.contains(id) || !shaped.infos[id]) return known;
  known.dtype = shaped.infos[id]->dtype;
  known.shape.emplace();
  for (const std::int64_t dim : shaped.infos[id]->shape.dims()) known.shape->push_back({dim, ""});
  return known;
}

std::vector<ValueInfo> infer_subgraphs(ShapedGraph& shaped, NodeId id, ExpandBudget& budget) {
  SubgraphShaper shaper(shaped, id, budget);
  if (shaped.graph.node(id).is("If")) return shaper.shape_if();
  if (shaped.graph.node(id).is("Loop")) return shaper.shape_loop();
  throw Error(ErrorCode::kUnsupported,
              to_text(shaped.graph.describe(id),
                      ": the number of its iterations, or the axes of its outputs, are unknown"));
}

}  // namespace qtool
