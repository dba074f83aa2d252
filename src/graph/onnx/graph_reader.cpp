#include "graph/onnx/graph_reader.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/arity.h"
#include "graph/edit.h"
#include "graph/onnx/dtype.h"
#include "graph/onnx/four_bits.h"
#include "graph/onnx/node.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using onnx::AttributeProto;

constexpr std::int64_t kMaxCalls = 1 << 16;
constexpr std::int64_t kMaxCalledNodes = 1 << 17;
constexpr std::int64_t kMaxCalledBytes = std::int64_t{1} << 30;  // each call copies the constants

// The prefix of domains and attributes that only qtool itself uses.
constexpr std::string_view kReserved = "qtool.";

// Attributes by name, as the caller of a function gives them.
using Arguments = std::map<std::string, const AttributeProto*, std::less<>>;

// A call of a function while its nodes are read.
struct Call {
  const Call* outer = nullptr;
  const onnx::FunctionProto* function = nullptr;
  int depth = 1;
  std::string prefix;                               // for the names of its tensors and nodes
  Arguments arguments;                              // attributes of the function
  std::unordered_map<std::string, ValueId> values;  // by their names in the function
};

class GraphReader {
 public:
  // `role` names the graph in messages. `around` is the call of the surrounding function; null
  // outside a function.
  GraphReader(ModelParts& parts, std::string role, int depth, const Call* around)
      : parts_(parts), role_(std::move(role)), depth_(depth), around_(around) {}

  Graph read(onnx::GraphProto& proto, const ModelInfo& info) {
    graph_.info = info;
    read_parts(proto);
    read_outputs(proto);
    finish(proto);
    return std::move(graph_);
  }

  // `captured` receives the names of the values that the subgraph reads from the surrounding graph.
  Subgraph read_body(onnx::GraphProto& proto, const ModelInfo& info,
                     std::vector<std::string>& captured) {
    graph_.info.opsets = info.opsets;
    read_parts(proto);
    read_body_outputs(proto);
    for (std::size_t i = 0; i < graph_.value_limit(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const Value& value = graph_.value(id);
      if (value.producer != kNoNode || graph_.is_constant(id) || graph_.is_input(id)) continue;
      graph_.add_input(id);
      captured.push_back(value.name);
    }
    finish(proto);
    return {std::move(graph_), captured.size()};
  }

 private:
  void read_parts(onnx::GraphProto& proto) {
    if (depth_ > kMaxNesting) {
      refuse_model(to_text("subgraphs lie more than ", kMaxNesting, " deep in each other"),
                   ErrorCode::kUnsupported);
    }
    read_constants(proto);
    read_inputs(proto);
    for (onnx::NodeProto& node : *proto.mutable_node()) {
      check_stop(parts_.stop);
      read_node(node, nullptr);
    }
    require_operands(graph_);
  }

  void finish(const onnx::GraphProto& proto) {
    for (const ValueId id : four_bits_) mark_four_bits(graph_, id);
    for (const onnx::ValueInfoProto& info : proto.value_info()) {
      const auto value = graph_.find_value(info.name());
      const bool inner = value && graph_.value(*value).producer != kNoNode;
      if (inner && !graph_.is_output(*value)) declare(*value, info);
    }
    require_definitions();
    check_stop(parts_.stop);
    graph_.sort();
    graph_.check();
  }

  void read_constants(onnx::GraphProto& proto) {
    if (proto.sparse_initializer_size() > 0) {
      refuse_model(to_text("initializer '", proto.sparse_initializer(0).values().name(),
                           "': is sparse, which is not supported"),
                   ErrorCode::kUnsupported);
    }
    for (onnx::TensorProto& tensor : *proto.mutable_initializer()) {
      check_stop(parts_.stop);
      if (tensor.name().empty()) refuse_model("an initializer has no name");
      const std::string what = to_text("initializer '", tensor.name(), "'");
      const ValueId id = graph_.add_constant(tensor.name(), parts_.tensors.read(tensor, what));
      if (holds_4_bits(tensor)) four_bits_.push_back(id);
      // The raw data is freed, so that large models are not held twice. The data in a function is
      // kept, because the function may be read again.
      if (around_ == nullptr) std::string().swap(*tensor.mutable_raw_data());
    }
  }

  void read_inputs(const onnx::GraphProto& proto) {
    for (const onnx::ValueInfoProto& info : proto.input()) {
      if (info.name().empty()) refuse_model(to_text("a ", role_, " input has no name"));
      const auto known = graph_.find_value(info.name());
      // Up to IR version 3 every initializer was an input as well. In a body it stays an input,
      // because the number of inputs matters there.
      if (known && graph_.is_constant(*known) && depth_ == 0) continue;
      const ValueId value = graph_.add_value(info.name());
      graph_.add_input(value);
      require_tensor(info, to_text(role_, " input"));
      declare(value, info);
    }
  }

  void read_outputs(const onnx::GraphProto& proto) {
    for (const onnx::ValueInfoProto& info : proto.output()) {
      const auto value = graph_.find_value(info.name());
      if (!value) refuse_model(to_text("graph output '", info.name(), "': nothing defines it"));
      if (graph_.is_output(*value)) {
        refuse_model(to_text("graph output '", info.name(), "': is listed twice"));
      }
      add_output(*value, info);
    }
    if (graph_.outputs().empty()) refuse_model("the graph has no outputs");
  }

  // A body may output the same value twice, and it may output values of the surrounding graph.
  void read_body_outputs(const onnx::GraphProto& proto) {
    for (const onnx::ValueInfoProto& info : proto.output()) {
      if (info.name().empty()) refuse_model(to_text("a ", role_, " output has no name"));
      ValueId value = intern(info.name(), nullptr);
      if (value == kNoValue) refuse_model(to_text("output '", info.name(), "' has no value"));
      if (graph_.is_output(value)) {
        const ValueId copy = graph_.add_value(graph_.unique_name(info.name()));
        add_op(graph_, "Identity", {value}, copy);
        value = copy;
      }
      add_output(value, info);
    }
  }

  void add_output(ValueId value, const onnx::ValueInfoProto& info) {
    graph_.add_output(value);
    require_tensor(info, to_text(role_, " output"));
    if (!graph_.is_constant(value) && !graph_.is_input(value)) declare(value, info);
  }

  void declare(ValueId value, const onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type()) return;
    const onnx::TypeProto::Tensor& type = info.type().tensor_type();
    graph_.declare(value, dtype_of_onnx(type.elem_type()), declared_shape(info));
  }

  // The value with this name in the graph, or in the function that is being called; it is added if
  // it does not exist.
  ValueId intern(const std::string& name, Call* call) {
    if (name.empty()) return kNoValue;
    if (call == nullptr) {
      const auto known = graph_.find_value(name);
      if (!known && is_left_out(name)) return kNoValue;
      return known ? *known : graph_.add_value(name);
    }
    const auto known = call->values.find(name);
    if (known != call->values.end()) return known->second;
    const ValueId id = graph_.add_value(graph_.unique_name(to_text(call->prefix, name)));
    call->values.emplace(name, id);
    return id;
  }

  // Whether `name` is an input of the surrounding function that its call leaves out.
  [[nodiscard]] bool is_left_out(const std::string& name) const {
    if (around_ == nullptr) return false;
    const auto known = around_->values.find(name);
    return known != around_->values.end() && known->second == kNoValue;
  }

  void read_node(onnx::NodeProto& proto, Call* call) {
    if (const onnx::FunctionProto* function = parts_.functions.find(proto)) {
      return read_call(proto, *function, call);
    }
    const std::string what = describe(proto);
    Node node;
    node.name = call == nullptr || proto.name().empty() ? proto.name()
                                                        : to_text(call->prefix, proto.name());
    // Reports and --exclude identify nodes by their names. If a name occurs again, the later node
    // loses it and is identified by its first output, like all nodes without a name.
    if (!node_names_.insert(node.name).second) node.name.clear();
    node.op_type = proto.op_type();
    node.domain = plain_domain(proto.domain());
    if (node.op_type.empty()) refuse_model(to_text(what, ": names no operator"));
    // Reserved for compiled plans: operators of such a domain exist only there.
    if (node.domain.starts_with(kReserved)) {
      refuse_model(to_text(what, ": domain '", node.domain, "' is reserved"));
    }
    for (const std::string& input : proto.input()) node.inputs.push_back(intern(input, call));
    std::unordered_set<ValueId> made;
    for (const std::string& output : proto.output()) {
      const ValueId value = intern(output, call);
      if (!output.empty() && (value == kNoValue || !made.insert(value).second)) {
        refuse_model(to_text(what, ": value '", output, "' is defined twice"));
      }
      node.outputs.push_back(value);
    }
    std::map<std::string, std::vector<std::string>> captured;  // by attribute
    for (AttributeProto& given : *proto.mutable_attribute()) {
      if (given.name().starts_with(kReserved)) {
        refuse_model(to_text(what, ": attribute name '", given.name(), "' is reserved"));
      }
      const AttributeProto* attribute = resolve(given, call, what);
      if (attribute == nullptr) continue;
      const bool is_graph = type_of(*attribute) == AttributeProto::GRAPH;
      if (is_graph && !is_run(proto, given)) {
        refuse_model(to_text(what, ": attribute '", given.name(),
                             "' is a subgraph, which the operator does not run"),
                     ErrorCode::kUnsupported);
      }
      const bool is_constant = node.is("Constant") && given.name() == "value";
      if (is_constant && attribute->has_t() && holds_4_bits(attribute->t())) {
        four_bits_.insert(four_bits_.end(), node.outputs.begin(), node.outputs.end());
      }
      Attribute value = is_graph      ? read_subgraph(given, what, call, captured[given.name()])
                        : is_constant ? read_constant(*attribute, what, parts_.tensors)
                                      : read_attribute(*attribute, what, parts_.tensors);
      if (!node.attributes.try_emplace(given.name(), std::move(value)).second) {
        refuse_model(to_text(what, ": attribute '", given.name(), "' is given twice"));
      }
    }
    for (const auto& [attribute, names] : captured) {
      for (const std::string& name : names) node.inputs.push_back(intern(name, call));
    }
    graph_.add_node(std::move(node));
  }

  // Reads the nodes of a function in place of the node that calls it.
  void read_call(const onnx::NodeProto& proto, const onnx::FunctionProto& function, Call* outer) {
    const std::string what = to_text(describe(proto), ": function '", function.name(), "'");
    Call call;
    call.outer = outer;
    call.function = &function;
    call.depth = outer == nullptr ? 1 : outer->depth + 1;
    for (const Call* around = outer; around != nullptr; around = around->outer) {
      if (around->function == &function) refuse_model(to_text(what, " calls itself"));
    }
    call.prefix = to_text(outer == nullptr ? "" : outer->prefix,
                          proto.name().empty() ? function.name() : proto.name(), "/");
    require_limits(function, call, what);
    const std::vector<AttributeProto> defaults = default_attributes(function);
    bind_arguments(proto, defaults, what, outer, call);
    std::vector<std::pair<ValueId, ValueId>> copies;
    bind_values(proto, what, outer, call, copies);
    for (const onnx::NodeProto& node : function.node()) {
      check_stop(parts_.stop);
      onnx::NodeProto copy = node;  // reading may change it, and a function may be called again
      read_node(copy, &call);
    }
    for (const auto& [from, to] : copies) add_op(graph_, "Identity", {from}, to);
  }

  void require_limits(const onnx::FunctionProto& function, const Call& call,
                      const std::string& what) {
    const auto require = [&](std::int64_t found, std::int64_t max, std::string_view kind) {
      if (found <= max) return;
      refuse_model(
          to_text(what, ": the calls of functions ", kind, ", at most ", max, " are accepted"),
          ErrorCode::kUnsupported);
    };
    parts_.called_nodes += function.node_size();
    parts_.called_bytes += static_cast<std::int64_t>(function.ByteSizeLong());
    for (const onnx::NodeProto& node : function.node()) {
      parts_.called_bytes += std::ssize(call.prefix) * (1 + node.input_size() + node.output_size());
    }
    require(call.depth, kMaxNesting, to_text("lie ", call.depth, " deep in each other"));
    require(++parts_.calls, kMaxCalls, "are too many");
    require(parts_.called_nodes, kMaxCalledNodes, "become too many nodes");
    require(parts_.called_bytes, kMaxCalledBytes, "become too many bytes");
  }

  // Collects the attributes of the call: the given ones, and defaults for the others.
  void bind_arguments(const onnx::NodeProto& proto, const std::vector<AttributeProto>& defaults,
                      const std::string& what, const Call* outer, Call& call) {
    for (const AttributeProto& attribute : defaults) call.arguments[attribute.name()] = &attribute;
    for (const AttributeProto& given : proto.attribute()) {
      const AttributeProto* attribute = resolve(given, outer, what);
      if (attribute != nullptr) call.arguments[given.name()] = attribute;
    }
  }

  // Connects the operands of a function. If a function returns one of its inputs, or the same value
  // as several outputs, an output of the call needs a copy. `copies` receives these pairs: the
  // value in the function and the output of the call.
  void bind_values(const onnx::NodeProto& proto, const std::string& what, Call* outer, Call& call,
                   std::vector<std::pair<ValueId, ValueId>>& copies) {
    const onnx::FunctionProto& function = *call.function;
    const auto require_count = [&](int found, int expected, std::string_view side) {
      if (found <= expected) return;
      refuse_model(to_text(what, ": found ", found, " ", side, ", expected at most ", expected));
    };
    require_count(proto.input_size(), function.input_size(), "inputs");
    require_count(proto.output_size(), function.output_size(), "outputs");
    for (int i = 0; i < function.input_size(); ++i) {
      const ValueId value = i < proto.input_size() ? intern(proto.input(i), outer) : kNoValue;
      if (!call.values.emplace(function.input(i), value).second) {
        refuse_model(to_text(what, ": input '", function.input(i), "' is listed twice"));
      }
    }
    for (int i = 0; i < proto.output_size(); ++i) {
      const ValueId value = intern(proto.output(i), outer);
      if (value == kNoValue) continue;
      const auto [known, added] = call.values.try_emplace(function.output(i), value);
      if (added) continue;
      if (known->second == kNoValue) refuse_model(to_text(what, ": output ", i, " has no value"));
      copies.emplace_back(known->second, value);
    }
  }

  // The attribute that `given` stands for: `given` itself, or the attribute of the function call
  // that it refers to; null when the call leaves that attribute out.
  const AttributeProto* resolve(const AttributeProto& given, const Call* call,
                                const std::string& what) const {
    if (given.ref_attr_name().empty()) return &given;
    const Call* from = call == nullptr ? around_ : call;
    if (from == nullptr) {
      refuse_model(to_text(what, ": attribute '", given.name(),
                           "' refers to the attribute of a function, but is in none"));
    }
    const auto found = from->arguments.find(given.ref_attr_name());
    if (found == from->arguments.end()) return nullptr;
    const int type = type_of(*found->second);
    if (type == AttributeProto::GRAPH || type == AttributeProto::GRAPHS) {
      refuse_model(to_text(what, ": attribute '", given.name(),
                           "' is a subgraph that is handed to a function, which is not supported"),
                   ErrorCode::kUnsupported);
    }
    return found->second;
  }

  Attribute read_subgraph(AttributeProto& proto, const std::string& what, const Call* call,
                          std::vector<std::string>& captured) {
    try {
      GraphReader reader(parts_, "subgraph", depth_ + 1, call == nullptr ? around_ : call);
      return std::make_shared<const Subgraph>(
          reader.read_body(*proto.mutable_g(), graph_.info, captured));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      throw Error(error.code(), to_text(what, ": ", proto.name(), ": ", error.what()));
    }
  }

  void require_definitions() const {
    for (const NodeId id : graph_.nodes()) {
      for (const ValueId input : graph_.node(id).inputs) {
        if (input == kNoValue || graph_.is_input(input) || graph_.is_constant(input)) continue;
        if (graph_.value(input).producer == kNoNode) {
          refuse_model(to_text(graph_.describe(id), ": reads '", graph_.value(input).name,
                               "', which no node, input or initializer defines"));
        }
      }
    }
  }

  ModelParts& parts_;
  std::string role_;
  int depth_;  // 0: the main graph
  const Call* around_;
  std::unordered_set<std::string> node_names_;
  Graph graph_;
  std::vector<ValueId> four_bits_;  // values that the file stores in 4 bits
};

}  // namespace

void refuse_model(const std::string& message, ErrorCode code) { throw Error(code, message); }

Graph read_graph(onnx::GraphProto& proto, const ModelInfo& info, ModelParts& parts) {
  return GraphReader(parts, "graph", 0, nullptr).read(proto, info);
}

}  // namespace qtool
