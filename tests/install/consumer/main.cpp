// Classifies one image: consumer MODEL.onnx PREPROCESS.json PICTURE
#include <array>
#include <iostream>

#include "qtool/base/error.h"
#include "qtool/base/file.h"
#include "qtool/exec/executor.h"
#include "qtool/exec/prepare.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"
#include "qtool/image/preprocess_json.h"
#include "qtool/measure/metrics.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const qtool::Executor network(qtool::prepare(qtool::load_onnx(argv[1])));
    const qtool::Preprocess preprocess =
        qtool::preprocess_from_json(qtool::read_file(argv[2], 1 << 16));
    const qtool::Tensor picture = qtool::preprocess_image(qtool::load_image(argv[3]), preprocess);

    const auto plan = network.compile({{"input", picture.shape()}});
    qtool::Workspace workspace;
    const std::array<qtool::TensorView, 1> inputs{picture};
    const auto outputs = plan->run(inputs, workspace);
    std::cout << "class " << qtool::top_k(outputs.front().values<float>(), 1).front() << "\n";
  } catch (const qtool::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
