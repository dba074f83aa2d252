#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "qtool/compare/evaluate.h"
#include "report/preprocessing.h"

namespace qtool::tool {

/// Looks at the outputs of a network whose outputs no option describes. If they are those of a
/// named detector, gives --boxes its name, and says so. If they only look like those of a detector,
/// warns, and says what is missing. See recognise_detector() for cost and errors.
void recognise_boxes(Command& command, const Executor& fp32, const Samples& samples,
                     const SourcedPreprocess& preprocess, BadImages policy);

/// Options of a command line, each with its value, that prepare images as the authors of a detector
/// do. If only one field is missing, they give that field.
struct UsualPreprocessing {
  std::string detector{};            ///< its name
  std::vector<std::string> words{};  ///< empty: nothing is known
};

/// The preprocessing of the detector that --boxes names, for a run that assumed something of its
/// own. `words` is empty if nothing was assumed or nothing is known.
UsualPreprocessing usual_preprocessing(const Command& command, const SourcedPreprocess& preprocess);

}  // namespace qtool::tool
