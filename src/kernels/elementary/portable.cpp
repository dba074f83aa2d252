#include "kernels/elementary/stages.h"

namespace qtool {

constexpr ElementaryFunctions elementary_portable = kElementary;

}  // namespace qtool
