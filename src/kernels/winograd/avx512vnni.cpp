#include "kernels/winograd/stages.h"

namespace qtool {

constexpr WinogradFunctions winograd_avx512vnni = kWinograd;

}  // namespace qtool
