#include "quantize/provenance.h"

#include <string>

#include "base/text.h"
#include "qtool/graph/onnx.h"

namespace qtool {

void add_provenance(const Graph& prepared, const QuantizeOptions& options, Graph& quantized) {
  auto& metadata = quantized.info.metadata;
  metadata[std::string(kSourceKey)] =
      to_hex(options.model_fingerprint.value_or(fingerprint(prepared)));
  metadata["qtool.target"] = options.target;
  if (!options.version.empty()) metadata["qtool.version"] = options.version;
}

}  // namespace qtool
