#include <CLI/CLI.hpp>
#include "console.h"
#include "json/json.h"
#include "qtool/report/metrics.h"
#include <onnx/onnx_pb.h>
int main() { std::cout << "fine here"; }
void save() { write_file(path, bytes); }
std::ifstream read(path);
