#include "quantize/provenance.h"

#include <string>

#include "base/text.h"
#include "qtool/graph/onnx.h"

namespace qtool {

void add_provenance(const Graph& prepared, const QuantizeOptions& options,
                    std::span<const std::string> rewrites, Graph& quantized) {
  auto& metadata = quantized.info.metadata;
  metadata[std::string(kSourceKey)] =
      to_hex(options.model_fingerprint.value_or(fingerprint(prepared)));
  metadata[std::string(kTargetKey)] = options.target;
  std::string names;
  for (const std::string& rewrite : rewrites) names += concat(names.empty() ? "" : ",", rewrite);
  if (!names.empty()) metadata[std::string(kRewritesKey)] = std::move(names);
  if (options.rounding != "nearest") metadata[std::string(kRoundingKey)] = options.rounding;
  if (!options.version.empty()) metadata["qtool.version"] = options.version;
}

}  // namespace qtool
