#include "exit_code.h"

#include <exception>
#include <new>

#include "base/text.h"
#include "console.h"
#include "qtool/base/error.h"
#include "signals.h"

namespace qtool::tool {

int exit_code_of(const std::function<int()>& program) {
  int code = kExitFailure;
  try {
    code = program();
  } catch (const Error& problem) {
    error(problem.what());
    if (problem.code() == ErrorCode::kUsage) code = kExitUsage;
  } catch (const std::bad_alloc&) {
    error("not enough memory");
  } catch (const std::exception& problem) {
    error(to_text("unexpected: ", problem.what()));
  }
  // After a signal, the exit code is that of the signal, whatever failed because of it.
  return code != kExitOk && interrupted() ? interrupted_exit_code() : code;
}

}  // namespace qtool::tool
