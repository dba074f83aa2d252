#pragma once

// The operator schemas of the onnx library. Its headers cause compiler warnings, which are switched
// off.
#include "graph/onnx/proto.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <onnx/defs/schema.h>  // IWYU pragma: export
#pragma GCC diagnostic pop
