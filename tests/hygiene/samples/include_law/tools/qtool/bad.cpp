#include <onnx/onnx_pb.h>

#include <CLI/CLI.hpp>

#include "console.h"
#include "qtool/measure/metrics.h"
#include "report/json.h"
int main() { std::cout << "fine here"; }
void save() { write_file(path, bytes); }
std::ifstream read(path);
