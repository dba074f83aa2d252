#include "ops/computed.h"

#include <cstring>
#include <utility>

#include "base/text.h"

namespace qtool {

const Tensor& deciding_constant(const OpContext& op, std::size_t input) {
  const Tensor* tensor = op.constant(input);
  if (tensor == nullptr) {
    op.fail(ErrorCode::kUnsupported,
            to_text("the extent of its output depends on the data of input ", input,
                    "; only constants are supported"));
  }
  return *tensor;
}

std::unique_ptr<Operator> make_copies(std::vector<Tensor> results) {
  const auto shared = std::make_shared<std::vector<Tensor>>(std::move(results));
  return make_operator([shared](const Operands& o) {
    for (std::size_t i = 0; i < shared->size(); ++i) {
      const Tensor& result = (*shared)[i];
      if (!o.has_output(i) || result.bytes() == 0) continue;
      std::memcpy(o.out<std::byte>(i), result.data(), static_cast<std::size_t>(result.bytes()));
    }
  });
}

std::vector<ValueInfo> infos_of(const std::vector<Tensor>& tensors) {
  std::vector<ValueInfo> infos;
  for (const Tensor& tensor : tensors) infos.push_back({tensor.dtype(), tensor.shape()});
  return infos;
}

}  // namespace qtool
