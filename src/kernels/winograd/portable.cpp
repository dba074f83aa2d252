#include "kernels/winograd/stages.h"

namespace qtool {

constexpr WinogradFunctions winograd_portable = kWinograd;

}  // namespace qtool
