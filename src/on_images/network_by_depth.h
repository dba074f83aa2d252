#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/id_map.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The depth of each value: the number of nodes of `layers` on the longest path from an input to
/// the value, including the node that computes it. The depth of constants is 0.
IdMap<ValueId, std::int64_t> depths_of(const Graph& graph, std::span<const NodeId> layers);

/// Runs a network on many samples up to the layers of depth 1, then up to those of depth 2, and so
/// on. Biases of layers may change between two depths, but only of layers that were the last ones
/// in the run before. So a run needs not start from the inputs: it starts from the tensors in front
/// of those layers, which are kept for each sample. Where all of them fit into the memory, the cost
/// of all runs together is that of two inferences per sample, whatever the number of depths.
///
/// A sample is run from the inputs where its tensors do not fit, or if its shapes differ from those
/// of the other samples. Mostly the tensors are large at the first depths, where that costs little.
/// Results of integers are the same; the last bits of FP32 results may differ. Which samples are
/// kept does not depend on the threads.
class NetworkByDepth {
 public:
  /// What go_to() prepares.
  struct Target {
    Graph graph;                 ///< prepared
    std::vector<NodeId> layers;  ///< all layers, which give values their depths
    std::int64_t depth = 1;
    std::vector<std::string> results;  ///< tensors of this depth that the probe of run() sees
  };

  /// `shapes`: of the samples whose tensors are kept. All samples together keep at most
  /// `most_bytes` after each depth, and up to twice as much while they go from one depth to the
  /// next.
  NetworkByDepth(std::int64_t samples, InputShapes shapes, std::int64_t most_bytes);

  /// Prepares the runs up to the layers of one depth. The nodes and values of the graph must be
  /// those of the last call, with other constants; nodes and values may be added. Throws as
  /// Executor does. Cost: linear in the graph.
  void go_to(Target target);

  /// Whether run() needs the inputs of this sample.
  [[nodiscard]] bool needs_inputs(std::int64_t sample) const;
  /// Runs one sample on one thread and keeps its tensors for the next depth. Several threads may
  /// run different samples at the same time. `inputs` may be empty if run() does not need them.
  void run(std::int64_t sample, std::span<const Tensor> inputs, const InputShapes& shapes,
           Workspace& workspace, const Probe& probe);
  /// The bytes of all tensors that are kept now.
  [[nodiscard]] std::int64_t kept_bytes() const;

 private:
  using Tensors = std::map<std::string, std::shared_ptr<const Tensor>, std::less<>>;

  /// A part of the network that can run.
  struct Part {
    std::unique_ptr<Executor> executor;
    std::vector<std::string> inputs{};  ///< for the tensors `reads_`; empty for the whole network
    std::vector<std::string> kept{};    ///< the first outputs of the executor
  };

  [[nodiscard]] Tensors kept_after(std::span<const TensorView> outputs, const Part& part,
                                   const Tensors& before, std::span<const Tensor> inputs) const;
  void keep(std::int64_t sample, Tensors tensors);

  InputShapes shapes_;
  std::int64_t most_bytes_;
  std::vector<Tensors> kept_;  // by sample; empty if nothing is kept

  CompileOptions options_;
  std::vector<std::string> inputs_;  // of the network
  std::vector<std::string> reads_;   // the tensors that the part between two depths starts from
  std::vector<std::string> keeps_;   // the tensors to keep for the next depth
  Part from_inputs_;
  Part from_kept_;  // without an executor where all samples start from the inputs
};

}  // namespace qtool
