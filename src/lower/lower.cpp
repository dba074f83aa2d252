#include "lower/lower.h"

#include "base/stop.h"
#include "lower/passes.h"

namespace qtool {
namespace {

void finish(ShapedGraph& shaped) {
  shaped.graph.remove_dead_nodes();
  infer_missing(shaped);
  shaped.graph.check();
}

}  // namespace

void lower(ShapedGraph& shaped, Requantization requantization) {
  Clusters clusters(shaped, requantization);
  for (const auto pass :
       {fold_quantized_constants, relabel_signed_activations, lift_rows, sink_dequantize,
        quantize_wide_tensors, lower_products, add_wide_products, lower_recurrent, lower_functions,
        lower_elementwise, join_tables, lower_edges, mark_integer_products}) {
    check_stop_inside();
    pass(clusters);
  }
  shaped.graph.remove_dead_nodes();
  fold_all_constants(shaped);
  fuse_conv_slopes(shaped);
  fuse_conv_chains(shaped);
  fuse_float(shaped);
  fuse_chains(shaped);
  check_stop_inside();
  finish(shaped);
}

void lower_to_reference(ShapedGraph& shaped) {
  fold_all_constants(shaped);
  check_stop_inside();
  finish(shaped);
}

}  // namespace qtool
