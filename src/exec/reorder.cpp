#include "exec/reorder.h"

#include "base/check.h"
#include "ops/strides.h"

namespace qtool {

std::unique_ptr<Operator> make_reorder(const ValueInfo& info, Layout to) {
  QTOOL_CHECK(info.shape.rank() == 4);
  const Layout from = to == Layout::kPlain ? Layout::kChannelsLast : Layout::kPlain;
  const LoopNest<2> nest(info.shape.dims(),
                         {strides_of(info.shape, to), strides_of(info.shape, from)});
  return make_operator([nest, bytes = size_of(info.dtype)](const Operands& o) {
    copy_strided(nest, bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
  });
}

}  // namespace qtool
