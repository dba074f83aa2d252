#include "exec/lower.h"

namespace qtool {

void lower_integer(ShapedGraph&, const std::vector<std::string>&) {}

}  // namespace qtool
