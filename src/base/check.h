#pragma once

namespace qtool {
/// Ends the program with the position in the code and the text of a broken internal assumption. Bad
/// input never leads here: it throws Error.
[[noreturn]] void report_bug(const char* file, int line, const char* condition) noexcept;
}  // namespace qtool

/// Checks an assumption about qtool's own code that must hold for every input. Every build checks
/// it.
#define QTOOL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::qtool::report_bug(__FILE__, __LINE__, #condition))
