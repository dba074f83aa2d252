#include "kernels/elementary/stages.h"

namespace qtool {

constexpr ElementaryFunctions elementary_avx2 = kElementary;

}  // namespace qtool
