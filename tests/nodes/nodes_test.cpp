#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

#include "base/name_pattern.h"
#include "base/text.h"
#include "nodes/backend_suite.h"
#include "support/absent.h"
#include "support/judged_operators.h"
#include "support/places.h"

// The backend suite of the ONNX project: one small model per operator and variant, with inputs and
// expected outputs. A case whose operators are all claimed must pass or be listed with a reason.
namespace qtool {
namespace {

namespace fs = std::filesystem;
using tests::CaseResult;
using tests::Verdict;

struct Exception {
  std::string pattern;
  std::string reason;
  bool used = false;
};

// Lines `pattern: reason`; `#` starts a comment.
std::vector<Exception> read_exceptions() {
  std::ifstream file(std::filesystem::path(kSourceFolder) / "tests/nodes/exceptions.txt");
  std::vector<Exception> list;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    list.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  return list;
}

#define QTOOL_OP(name, ...) #name,
const std::vector<std::string> kClaimed = {
#include "graph/operators.inc"
};

TEST(OnnxBackendSuite, PassesForEveryClaimedOperator) {
  const fs::path data = kOnnxTestData;
  if (!fs::exists(data)) GTEST_SKIP() << absent(data);

  std::vector<Exception> exceptions = read_exceptions();
  std::map<std::string, int> counts;
  std::set<std::string> passed_operators;
  int passed = 0;
  const std::vector<CaseResult>& results = tests::backend_suite();
  for (const CaseResult& result : results) {
    const auto listed =
        std::find_if(exceptions.begin(), exceptions.end(), [&](const Exception& exception) {
          return matches_pattern(result.name, exception.pattern);
        });
    if (result.verdict == Verdict::kPassed) {
      ++passed;
      passed_operators.insert(result.operators.begin(), result.operators.end());
      EXPECT_TRUE(listed == exceptions.end())
          << result.name << " passes, but is listed as '" << listed->reason << "'";
    } else if (result.verdict == Verdict::kUnclaimed) {
      ++counts[result.reason.starts_with("operator")
                   ? result.reason
                   : "strings, sequences, subgraphs or functions"];
    } else if (listed != exceptions.end()) {
      listed->used = true;
      ++counts[listed->reason];
    } else {
      ADD_FAILURE() << result.name << ": " << result.reason;
    }
  }
  for (const Exception& exception : exceptions) {
    EXPECT_TRUE(exception.used) << "no case matches '" << exception.pattern << "'";
  }
  const std::set<std::string> elsewhere(kJudgedByOnnxRuntime.begin(), kJudgedByOnnxRuntime.end());
  for (const std::string& op : kClaimed) {
    EXPECT_TRUE(passed_operators.contains(op) || elsewhere.contains(op))
        << op << " is claimed, but no case of it passed";
  }
  std::cout << results.size() << " cases, " << passed << " passed; not run:\n";
  for (const auto& [reason, count] : counts) std::cout << "  " << count << "  " << reason << "\n";
}

}  // namespace
}  // namespace qtool
