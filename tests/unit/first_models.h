#pragma once

#include "report/first_model.h"

// Results of `auto` that need no model.
namespace qtool {

inline OutputError noisy_output(const char* name, double sqnr_db) {
  OutputError error;
  error.name = name;
  error.sqnr_db = error.pooled_sqnr_db = sqnr_db;
  return error;
}

/// A good classifier of 10 classes, on 1,000 held-out images.
inline FirstModel good_model() {
  FirstModel made;
  made.calibrated_on = 100;
  made.preprocess = SourcedPreprocess{preprocess_preset("imagenet"), "of preset 'imagenet'", {}};
  made.quantized.output = "m.int8.onnx";
  made.quantized.coverage.macs = made.quantized.coverage.integer_macs = 10;
  made.compared.images = 1000;
  made.compared.overlap = Overlap{"image", 1000, 0};
  made.compared.classes = 10;
  made.compared.int8 = ModelScore{};
  made.compared.agreement = 970;
  made.compared.outputs = {noisy_output("logits", 15.0)};
  return made;
}

inline Advice advice_on(const FirstModel& made) { return advise(figures_of(made)); }

/// A network without classes, whose worst output has this pooled SQNR.
inline FirstModel without_classes(double sqnr_db) {
  FirstModel made = good_model();
  made.compared.classes = 0;
  made.compared.outputs = {noisy_output("a", 40.0), noisy_output("b", sqnr_db)};
  return made;
}

}  // namespace qtool
