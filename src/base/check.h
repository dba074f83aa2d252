#pragma once

namespace qtool {
/// Ends the program with the position in the code and the text of a broken internal assumption.
/// Never for bad input: that throws Error.
[[noreturn]] void report_bug(const char* file, int line, const char* condition) noexcept;
}  // namespace qtool

/// An assumption about our own code that holds whatever the input; checked in every build.
#define QTOOL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::qtool::report_bug(__FILE__, __LINE__, #condition))
