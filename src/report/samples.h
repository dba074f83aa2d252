#pragma once

#include <string>

#include "qtool/compare/evaluate.h"
#include "report/text_table.h"

namespace qtool {

// What eval knows of single samples and single classes.

/// One record per sample, in the order of the list, under a heading; see docs/evaluation.md.
std::string samples_csv(const EvalResult& result);

/// One record per sample that the models answer with different classes, the largest margin lost
/// first.
std::string flips_csv(const EvalResult& result);

/// The classes whose top-1 INT8 changed most and the confusions that changed most, a few of each;
/// nothing without an INT8 model or without labels.
std::string text_of_classes(const EvalResult& result, std::size_t width);

}  // namespace qtool
