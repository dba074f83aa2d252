#include "quantize/emission/emit.h"
#include "quantize/emission/qoperator_rewrite.h"

namespace qtool {

/// The model with pairs, whose operators then read and write integers where they can.
Graph emit_qoperator(const Decisions& decisions, QuantizeReport& report) {
  Graph graph = emit_qdq(decisions, report);
  report.qoperators = to_qoperator_form(graph);
  graph.info.metadata[std::string(kFormKey)] = name_of(ModelForm::kQOperator);
  return graph;
}

}  // namespace qtool
