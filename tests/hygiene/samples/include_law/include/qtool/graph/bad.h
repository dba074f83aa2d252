#pragma once
#include <vector>
#include <nlohmann/json.hpp>
#include "graph/internal.h"
#include "qtool/exec/executor.h"
#include "qtool/image/image.h"
#include "qtool/tensor/tensor.h"
nlohmann::json table();  // nlohmann::json in a comment alone is fine
