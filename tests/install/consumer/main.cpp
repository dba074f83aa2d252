// Calibrates, quantizes and compares: consumer MODEL.onnx PREPROCESS.json IMAGES OUT.onnx
#include <iostream>

#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/quantize/coverage.h"

int main(int argc, char** argv) try {
  if (argc != 5) return 2;
  const qtool::Executor fp32(qtool::prepare(qtool::load_onnx(argv[1])));
  const qtool::ImageSet images = qtool::list_images(argv[3]);
  qtool::MakeOptions make;
  qtool::EvalOptions eval;
  make.preprocess = eval.preprocess = qtool::load_preprocess(argv[2]);

  qtool::Quantized model = qtool::make_model(fp32, qtool::Recipe(), images, make).int8;
  qtool::save_onnx(model.graph, argv[4]);

  const qtool::Coverage coverage = qtool::measure_coverage(model.graph, {}, model.report);
  const qtool::Executor int8(qtool::prepare(model.graph));
  const qtool::EvalResult result = qtool::evaluate(fp32, &int8, images, eval);
  std::cout << qtool::coverage_line(coverage, model.report) << "\nagreement "
            << 100 * result.agreement / result.images << " %\n";
} catch (const qtool::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
