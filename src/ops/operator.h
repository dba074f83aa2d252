#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/memory.h"
#include "graph/id_map.h"
#include "ops/body.h"
#include "ops/integer/pack_cache.h"
#include "ops/lowered.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Domain of the operators that exist only inside a plan, made by lowering.
inline constexpr std::string_view kLoweredDomain = "qtool.lowered";

/// Element type and concrete shape (ONNX axis order) of a value.
struct ValueInfo {
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// Types and shapes of a graph's values, as far as they are known.
using ValueInfos = IdMap<ValueId, std::optional<ValueInfo>>;

/// The physical layouts of rank-4 tensors that an operator works on.
enum class LayoutRule : std::uint8_t {
  kPlain,           ///< inputs and outputs in N, C, H, W
  kAny,             ///< either; all inputs get one layout, and the outputs have it too
  kAnyForAll,       ///< the same for constants, which kAny hands over plain
  kChannelsLast,    ///< rank-4 inputs and outputs in N, H, W, C; constant weights (input 1) plain
  kImages,          ///< the same, where constants of s8 are weights; never folded, which runs plain
  kToChannelsLast,  ///< reads either, writes N, H, W, C
};

/// The information that an operator has while it is compiled.
class OpContext {
 public:
  const Graph& graph;
  NodeId id;
  const Node& node;
  int threads = 1;
  PackCache* packs = nullptr;  ///< null: nothing is shared
  Requantization requantization = Requantization::kFloat;
  std::vector<std::shared_ptr<const Body>> bodies;  ///< for the subgraphs; only in OpDef::make
  std::int64_t* table_bytes = nullptr;  ///< bytes that operators claimed so far; null: not counted
  std::int64_t most_table_bytes = physical_memory();  ///< limit of all claims

  OpContext(const Graph& g, NodeId node_id, const ValueInfos& infos,
            const LoweredParams& lowered = kNotLowered)
      : graph(g), id(node_id), node(g.node(node_id)), infos_(infos), lowered_(lowered) {}
  /// `infos` and `lowered` must outlive the context.
  OpContext(const Graph&, NodeId, const ValueInfos&, const LoweredParams&&) = delete;

  [[nodiscard]] std::size_t input_count() const { return node.inputs.size(); }
  [[nodiscard]] bool has_input(std::size_t index) const { return node.has_input(index); }
  /// Type and shape of an input. Throws Error(kInvalidModel) when it is absent.
  [[nodiscard]] const ValueInfo& input(std::size_t index) const;
  /// Type and shape of an output; only while making the operator.
  [[nodiscard]] const ValueInfo& output(std::size_t index) const;
  /// The constant behind an input, or null when it is absent or computed.
  [[nodiscard]] const Tensor* constant(std::size_t index) const;
  [[nodiscard]] std::shared_ptr<const Tensor> shared_constant(std::size_t index) const;
  /// The result of `make` for `source`, shared with the other plans of the executor.
  template <typename T, typename Make>
  [[nodiscard]] std::shared_ptr<const T> packed(PackSource source, const Make& make) const {
    if (packs == nullptr) return make();
    return std::static_pointer_cast<const T>(packs->get(std::move(source), make));
  }
  /// The integers of a constant input (shapes, axes). Throws Error(kUnsupported) when it is not a
  /// constant: shapes that depend on data are not supported.
  [[nodiscard]] std::vector<std::int64_t> constant_ints(std::size_t index,
                                                        std::string_view what) const;
  /// The parameters that lowering gave this node; a QTOOL_CHECK fails when they are another struct.
  template <typename T>
  [[nodiscard]] const T& params() const {
    QTOOL_CHECK(std::holds_alternative<T>(lowered_));
    return std::get<T>(lowered_);
  }
  /// The clamp fused into an FP32 operator, if there is one.
  [[nodiscard]] std::optional<Clamp> fused_clamp() const {
    const auto* fused = std::get_if<FusedParams>(&lowered_);
    return fused == nullptr ? std::nullopt : fused->clamp;
  }
  /// The function fused into an FP32 convolution instead of a clamp, if there is one.
  [[nodiscard]] std::optional<FusedFunction> fused_function() const {
    const auto* fused = std::get_if<FusedParams>(&lowered_);
    return fused == nullptr ? std::nullopt : fused->function;
  }
  /// Layouts chosen for this node; only while making the operator.
  [[nodiscard]] Layout input_layout(std::size_t index) const;
  [[nodiscard]] Layout output_layout(std::size_t index) const;

  /// Announces memory that an operator takes besides its tensors and its workspace, such as tables
  /// with an entry for each index of an axis: `entries` of `bytes` each. Call it before the memory
  /// is allocated. Throws Error(kUnsupported) when all claims together exceed `most_table_bytes`.
  void claim(std::int64_t entries, std::size_t bytes) const;

  /// Throws Error(code) with "node 'x' (Op): " before the message.
  [[noreturn]] void fail(ErrorCode code, std::string_view message) const;
  [[noreturn]] void fail(std::string_view message) const;  // kInvalidModel
  void require(bool condition, std::string_view message) const {
    if (!condition) fail(message);
  }

  std::vector<Layout> input_layouts;
  std::vector<Layout> output_layouts;

 private:
  inline static const LoweredParams kNotLowered{};

  const ValueInfos& infos_;
  const LoweredParams& lowered_;
};

/// The tensors of one execution of an operator.
class Operands {
 public:
  Operands(std::span<const TensorView> values, std::span<const std::int32_t> inputs,
           std::span<const std::int32_t> outputs, std::byte* workspace, int threads)
      : values_(values),
        inputs_(inputs),
        outputs_(outputs),
        workspace_(workspace),
        threads_(threads) {}

  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < inputs_.size() && inputs_[i] >= 0;
  }
  [[nodiscard]] const TensorView& input(std::size_t i) const {
    return values_[static_cast<std::size_t>(inputs_[i])];
  }
  [[nodiscard]] bool has_output(std::size_t i) const {
    return i < outputs_.size() && outputs_[i] >= 0;
  }
  [[nodiscard]] const TensorView& output(std::size_t i) const {
    return values_[static_cast<std::size_t>(outputs_[i])];
  }
  template <typename T>
  [[nodiscard]] const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(input(i).data);
  }
  template <typename T>
  [[nodiscard]] T* out(std::size_t i) const {
    // The arena of an output may be written here; for all other code views are read-only.
    return reinterpret_cast<T*>(const_cast<std::byte*>(output(i).data));  // NOLINT
  }
  [[nodiscard]] std::byte* workspace() const { return workspace_; }
  [[nodiscard]] int threads() const { return threads_; }

 private:
  std::span<const TensorView> values_;
  std::span<const std::int32_t> inputs_;  // indices in values_, -1 where absent
  std::span<const std::int32_t> outputs_;
  std::byte* workspace_;
  int threads_;
};

/// A compiled operator: immutable, run by any number of threads at once.
class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;

  virtual void run(const Operands& operands) const = 0;
  /// Scratch memory one execution needs, 64-byte aligned.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual std::int64_t macs() const { return 0; }
  [[nodiscard]] virtual std::string kernel() const { return "fp32"; }
};

/// A row of the operator list.
struct OpDef {
  /// Types and shapes of the outputs.
  std::vector<ValueInfo> (*infer)(const OpContext&);
  /// The compiled operator. Null for operators that only rename memory (Reshape, Flatten, ...):
  /// their first output shares the memory of their first input.
  std::unique_ptr<Operator> (*make)(const OpContext&);
  LayoutRule layout = LayoutRule::kPlain;
};

/// The row of an operator, or null when it is unknown.
const OpDef* find_op(std::string_view op_type, std::string_view domain);

/// Makes an operator from a function, for operators that need no workspace and report no MACs.
std::unique_ptr<Operator> make_operator(std::function<void(const Operands&)> run,
                                        std::string_view kernel = "fp32");

}  // namespace qtool
