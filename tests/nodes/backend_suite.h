#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace qtool::tests {

enum class Verdict {
  kPassed,
  kUnclaimed,    ///< needs an operator, a type or a structure that qtool does not claim
  kUnsupported,  ///< every operator is claimed, yet this use of it is refused
  kFailed,       ///< wrong result, or an error that is none of the above
};

/// The outcome of one case of the ONNX backend suite.
struct CaseResult {
  std::string name;
  Verdict verdict = Verdict::kFailed;
  std::string reason;               ///< empty when it passed
  std::set<std::string> operators;  ///< of the model, as loaded
  /// The declared element types of the first inputs, by operator.
  std::map<std::string, std::set<std::string>> types;
};

/// The outcomes of all cases of the installed suite. The first call runs them; empty if no suite is
/// installed.
const std::vector<CaseResult>& backend_suite();

/// Runs the model of a case on its inputs and compares all outputs: integers exactly, floats within
/// the tolerance of the suite. Integer inputs that give shapes become constants of the model, since
/// shapes that depend on data are not supported.
CaseResult run_case(const std::filesystem::path& folder);

/// Whether the executor has an ONNX operator, or an upgrade turns it into operators that the
/// executor has.
bool is_claimed(const std::string& op_type);

}  // namespace qtool::tests
