#include "quantize/emission/provenance.h"

#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {

void require_same_model(const Graph& prepared, const CalibrationTable& table,
                        const QuantizeOptions& options) {
  const std::uint64_t expected =
      options.model_fingerprint ? *options.model_fingerprint : fingerprint(prepared);
  // Tables of other tools have no fingerprint of their model. Only the tensor names of such tables
  // are checked.
  if (table.model_fingerprint == expected || table.model_fingerprint == 0) return;
  throw Error(ErrorCode::kMismatch,
              to_text("the calibration table belongs to another model: it has fingerprint ",
                      to_hex(table.model_fingerprint), ", the model ", to_hex(expected)));
}

std::string table_hash(const CalibrationTable& table) {
  CalibrationTable of_model = table;
  of_model.image_ids.clear();
  return to_hex(hash_bytes(write_table(of_model)));
}

void add_provenance(const Graph& prepared, const QuantizeOptions& options,
                    std::span<const std::string> rewrites, Graph& quantized) {
  auto& metadata = quantized.info.metadata;
  metadata[std::string(kSourceKey)] =
      to_hex(options.model_fingerprint ? *options.model_fingerprint : fingerprint(prepared));
  metadata[std::string(kTargetKey)] = options.target;
  std::string names;
  for (const std::string& rewrite : rewrites) names += to_text(names.empty() ? "" : ",", rewrite);
  if (!names.empty()) metadata[std::string(kRewritesKey)] = std::move(names);
  if (options.rounding != "nearest") metadata[std::string(kRoundingKey)] = options.rounding;
  if (!options.version.empty()) metadata["qtool.version"] = options.version;
}

}  // namespace qtool
