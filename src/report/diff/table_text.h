#pragma once

#include <string>

#include "compare/diff/table_diff.h"
#include "qtool/calib/table.h"
#include "report/text_table.h"

namespace qtool {

/// The tensors that differ by more than `tolerance`, as a table of at most `width` columns, and the
/// tensors that only one table has. A short list has those that differ most.
std::string text_of(const TableDiff& diff, double tolerance, std::size_t width = kAnyWidth,
                    ListLength length = ListLength::kFull);
std::string json_of(const TableDiff& diff, double tolerance);

/// A whole table, tensor by tensor, in at most `width` columns: `qtool table show`.
std::string table_text(const CalibrationTable& table, std::size_t width = kAnyWidth);
std::string table_json(const CalibrationTable& table);

}  // namespace qtool
