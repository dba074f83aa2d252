#include "ops/operator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_OP(name, ...) OpDef op_##name();
#define QTOOL_LOWERED_OP(name) OpDef op_##name();
#include "graph/operators.inc"

namespace {

struct OperatorRow {
  std::string_view op_type;
  std::string_view domain;
  OpDef def;
};

const auto& operator_rows() {
  static const std::array kRows = std::to_array<OperatorRow>({
#define QTOOL_OP(name, ...) {#name, "", op_##name()},
#define QTOOL_LOWERED_OP(name) {#name, kLoweredDomain, op_##name()},
#include "graph/operators.inc"
  });
  return kRows;
}

class FunctionOperator final : public Operator {
 public:
  FunctionOperator(std::function<void(const Operands&)> run, std::string_view kernel)
      : run_(std::move(run)), kernel_(kernel) {}
  void run(const Operands& operands) const override { run_(operands); }
  [[nodiscard]] std::string kernel() const override { return kernel_; }

 private:
  std::function<void(const Operands&)> run_;
  std::string kernel_;
};

}  // namespace

const OpDef* find_op(std::string_view op_type, std::string_view domain) {
  if (domain == "ai.onnx") domain = "";
  for (const OperatorRow& row : operator_rows()) {
    if (row.op_type == op_type && row.domain == domain) return &row.def;
  }
  return nullptr;
}

std::unique_ptr<Operator> make_operator(std::function<void(const Operands&)> run,
                                        std::string_view kernel) {
  return std::make_unique<FunctionOperator>(std::move(run), kernel);
}

const ValueInfo& OpContext::input(std::size_t index) const {
  if (!has_input(index)) fail(to_text("input ", index, " is missing"));
  const auto& info = infos_[node.inputs[index]];
  if (!info) fail(to_text("input ", index, " has no known shape"));
  return *info;
}

const ValueInfo& OpContext::output(std::size_t index) const {
  QTOOL_CHECK(node.has_output(index));
  const auto& info = infos_[node.outputs[index]];
  QTOOL_CHECK(info.has_value());
  return *info;
}

const Tensor* OpContext::constant(std::size_t index) const {
  if (!has_input(index)) return nullptr;
  return graph.value(node.inputs[index]).constant.get();
}

std::shared_ptr<const Tensor> OpContext::shared_constant(std::size_t index) const {
  return has_input(index) ? graph.value(node.inputs[index]).constant : nullptr;
}

std::vector<std::int64_t> OpContext::constant_ints(std::size_t index, std::string_view what) const {
  const Tensor* tensor = constant(index);
  if (tensor == nullptr) {
    fail(ErrorCode::kUnsupported,
         to_text(what, " depends on the data; only constants are supported"));
  }
  return to_int64s(*tensor);
}

void OpContext::claim(std::int64_t entries, std::size_t bytes) const {
  const auto each = static_cast<std::int64_t>(bytes);
  const std::int64_t before = table_bytes == nullptr ? 0 : *table_bytes;
  const std::int64_t room = std::max<std::int64_t>(most_table_bytes - before, 0);
  if (each > 0 && entries > room / each) {
    fail(ErrorCode::kUnsupported, to_text("needs tables of ", entries, " entries of ", each,
                                          " bytes, there is room for ", room, " bytes"));
  }
  if (table_bytes != nullptr) *table_bytes += entries * each;
}

Layout OpContext::input_layout(std::size_t index) const {
  return index < input_layouts.size() ? input_layouts[index] : Layout::kPlain;
}

Layout OpContext::output_layout(std::size_t index) const {
  return index < output_layouts.size() ? output_layouts[index] : Layout::kPlain;
}

void OpContext::fail(ErrorCode code, std::string_view message) const {
  throw Error(code, to_text(graph.describe(id), ": ", message));
}

void OpContext::fail(std::string_view message) const { fail(ErrorCode::kInvalidModel, message); }

}  // namespace qtool
