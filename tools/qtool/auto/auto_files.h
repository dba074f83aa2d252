#pragma once

#include <string>

#include "auto/auto_command.h"
#include "qtool/base/error.h"
#include "qtool/calib/table.h"

namespace qtool::tool {

/// The files that `auto` writes or names.
struct AutoFiles {
  std::string table;
  std::string model;
  std::string overrides;  ///< what a search finds
};

/// The files of a run with `options`, in their folder.
AutoFiles files_of(const AutoCommand& options);

/// Makes the folder, and declares the outputs of the run, that of a search too. Throws as
/// declare_output() does, and Error(kIo) if the folder cannot be made.
void declare_files(const AutoCommand& options, const AutoFiles& files);

/// Writes the table although the model is refused, because the table is still of use. If there is
/// an older model, the table is not written, because it would not belong to that model.
void keep_table(const Error& refusal, const AutoFiles& files, const CalibrationTable& table);

}  // namespace qtool::tool
