#pragma once

#include <filesystem>
#include <string>

#include "cli/command.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/format.h"

namespace qtool::tool {

/// A table of any format.
struct TableFile {
  const FormatInfo* format = nullptr;
  CalibrationTable table;
};

/// `table 'a.cache' of format tensorrt`.
std::string text_of(const std::string& path, const FormatInfo& format);

/// Reads a table in the format called `format_name` or, if that is empty, in the format that its
/// content shows. Notes of the reader are printed as warnings. Messages name the file.
TableFile read_table_file(const std::string& path, const std::string& format_name,
                          const LayerNames& names);

/// The path of the table that calibrate writes without -o. Looks in the current folder, then beside
/// the model, and prints where the table was found. Throws Error(kUsage) when there is none.
std::string find_table(const std::filesystem::path& model, const std::string& target);

/// The path where calibrate saves the statistics of a table.
std::string statistics_beside(const std::string& table);

/// The statistics that an earlier run saved beside `table`. `option` is the option that names the
/// table, for messages. Throws Error(kUsage) when there are none, and Error(kMismatch) when they
/// were not saved with this table.
Collection read_statistics(const std::string& table, const std::string& option);

/// The name map in a JSON file; without one, the layers of `graph`; empty without either.
LayerNames read_layer_names(const std::string& map_path, const Graph* graph);

/// Makes the value of `option` the name of a table format.
void take_format(Option& option);

}  // namespace qtool::tool
