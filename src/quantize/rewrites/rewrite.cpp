#include "quantize/rewrites/rewrite.h"

#include <utility>

#include "base/check.h"
#include "base/choices.h"
#include "qtool/graph/onnx.h"

namespace qtool {

#define QTOOL_REWRITE(name) RewriteOutcome rewrite_##name(Rewritten&, const RewriteContext&);
#include "quantize/rewrites/rewrites.inc"

std::span<const RewriteInfo> rewrites() {
  static const std::vector<RewriteInfo> all = {
#define QTOOL_REWRITE(name) {#name, rewrite_##name},
#include "quantize/rewrites/rewrites.inc"
  };
  return all;
}

const RewriteInfo& find_rewrite(std::string_view name) {
  return find_by_name(rewrites(), name, "rewrite");
}

std::vector<RewriteReport> apply_rewrites(std::span<const std::string> names,
                                          const RewriteContext& context, Rewritten& network) {
  std::vector<RewriteReport> reports;
  Rewrites made;
  for (const std::string& name : names) {
    const RewriteInfo& rewrite = find_rewrite(name);
    RewriteOutcome outcome = rewrite.apply(network, context);
    QTOOL_CHECK((outcome.tensors > 0) == outcome.reason.empty());
    if (outcome.tensors > 0) made.names.emplace_back(rewrite.name);
    reports.push_back({std::string(rewrite.name), outcome.tensors, std::move(outcome.reason)});
  }
  if (!made.names.empty()) {
    network.graph.check();
    made.fingerprint = fingerprint(network.graph);
  }
  network.table.rewrites = std::move(made);
  return reports;
}

}  // namespace qtool
