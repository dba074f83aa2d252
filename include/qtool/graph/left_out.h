#pragma once

#include <string>
#include <vector>

namespace qtool {

/// The end of a network that an executor does not run, such as the selection of boxes: the data
/// decides how many results there are, or the operator is one that only another runtime has. A
/// quantized model keeps it as it is.
struct LeftOut {
  std::string reason;                ///< "node 'nms' (NonMaxSuppression): the data decides ..."
  std::vector<std::string> outputs;  ///< of the network, that are not computed
  std::vector<std::string> instead;  ///< tensors that are outputs instead
};

}  // namespace qtool
