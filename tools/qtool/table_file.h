#pragma once

#include <filesystem>
#include <string>

#include "program/command.h"
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

/// Reads a table, in the format called `format_name` or, if that is empty, in the one its content
/// shows. What the reader has to say goes out as warnings. Messages name the file.
TableFile read_table_file(const std::string& path, const std::string& format_name,
                          const LayerNames& names);

/// The table that calibrate writes without -o: in the folder where it ran, or beside the model;
/// says where it was found. Throws Error(kUsage) when there is none.
std::string find_table(const std::filesystem::path& model, const std::string& target);

/// Where calibrate saves the statistics of a table.
std::string statistics_beside(const std::string& table);

/// Statistics that an earlier run saved beside the table that `option` names. Throws Error(kUsage)
/// when there are none, Error(kMismatch) when the table has been written anew since, or is another
/// one.
Collection read_statistics(const std::string& table, const std::string& option);

/// The name map in a JSON file; without one, the layers of `graph`; empty without either.
LayerNames read_layer_names(const std::string& map_path, const Graph* graph);

/// Makes the value of `option` the name of a table format.
void take_format(Option& option);

}  // namespace qtool::tool
