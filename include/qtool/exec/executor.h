#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Brings a loaded graph into the one form that all commands work on: every node upgraded to the
/// canonical opset, constants folded, BatchNormalization folded into convolutions, dead nodes
/// removed. The result is standard ONNX; names of surviving nodes and tensors never change.
/// Idempotent. Throws Error(kInvalidModel) or Error(kUnsupported) naming the node,
/// Error(kCancelled) when `stop` says so.
Graph prepare(Graph graph, const StopCheck& stop = {});

/// The only input of a network as the graph declares it. Throws Error(kUnsupported) naming the
/// inputs when there are several: an image can be fed to one only.
const Value& image_input(const Graph& graph);
const Value& image_input(Graph&& graph) = delete;

/// Called during a run with each observed tensor, in the order of execution. `index` is the index
/// of the tensor in CompileOptions::observe. The view is valid until the call returns; its layout
/// may be channels-last.
using Probe = std::function<void(std::size_t index, const TensorView& tensor)>;

/// Whether compile() replaces Q/DQ clusters by integer operators. `kReference` runs every node of
/// the graph as the ONNX specification says, in FP32: the reference for tests of the lowering.
enum class Lowering : std::uint8_t { kInteger, kReference };

struct CompileOptions {
  /// Tensors that the probe sees. No output needs to depend on them. A tensor that becomes a
  /// constant for the given shapes is shown in each run like any other.
  std::vector<std::string> observe{};
  int threads = 0;  ///< threads inside operators; 0 = all available
  Lowering lowering = Lowering::kInteger;
  /// How integer sums become 8-bit integers. The integer-only paths requantize in plain loops after
  /// the same kernels: they give the results of an integer-only device, not its speed. Sums that
  /// are dequantized to floats, and the first QuantizeLinear, are the same on every path.
  Requantization requantization = Requantization::kFloat;
  /// Every tensor keeps memory of its own, so that parts of the network can be run again. The arena
  /// then takes the bytes of all tensors together, not only of the tensors in use at the same time.
  bool keep = false;
};

/// Name, element type and concrete shape of a plan's input or output.
struct PortInfo {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// One compiled operation, for reports.
struct StepInfo {
  std::string node;     ///< name of its graph node; for a cluster, of the main node
  std::string op_type;  ///< ONNX operator of that node
  std::string kernel;   ///< name of the kernel that runs it
  std::string output;   ///< name of the tensor it writes
  std::int64_t macs = 0;
  bool integer = false;  ///< computes on integers
};

/// Counters of an executor, for tests and reports.
struct ExecutorCounts {
  std::int64_t compiled = 0;  ///< plans compiled so far
  std::int64_t plans = 0;     ///< plans in the cache
  std::int64_t packs = 0;     ///< packed weights that plans in use share
};

class Plan;

/// The memory of one running plan: an arena and the tensor views into it. A worker keeps one and
/// reuses it, also for other plans.
class Workspace {
 public:
  Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  struct State;

 private:
  friend class Plan;
  friend class Replay;
  std::unique_ptr<State> state_;
};

/// A graph compiled for concrete input shapes. Immutable; any number of threads may run it at the
/// same time, each with its own workspace.
class Plan {
 public:
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] const std::vector<PortInfo>& inputs() const noexcept;
  [[nodiscard]] const std::vector<PortInfo>& outputs() const noexcept;
  [[nodiscard]] const std::vector<StepInfo>& steps() const noexcept;
  [[nodiscard]] std::int64_t arena_bytes() const noexcept;
  /// Concrete shape and type of each observed tensor, in the order of CompileOptions::observe.
  [[nodiscard]] const std::vector<PortInfo>& observed() const noexcept;

  /// Runs the network once. `inputs` are in the order of inputs(), the returned views in the order
  /// of outputs(). The views are in plain layout and valid until the next run on the same
  /// workspace. Throws Error(kMismatch) when an input has another type or shape. Integer results
  /// depend neither on threads nor on the batch; CompileOptions::threads may change the last bits
  /// of FP32 results.
  std::span<const TensorView> run(std::span<const TensorView> inputs, Workspace& workspace,
                                  const Probe& probe = {}) const;
  /// Runs the network as run() does, and writes the seconds that each step took to `step_seconds`,
  /// in the order of steps(). Throws Error(kInvalidArgument) when `step_seconds` has another size
  /// than steps().
  std::span<const TensorView> run_timed(std::span<const TensorView> inputs, Workspace& workspace,
                                        std::span<double> step_seconds) const;

  struct State;

 private:
  friend class PlanBuilder;
  friend class Replay;
  explicit Plan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Runs a prepared graph (see prepare()), FP32 or quantized: compiles it for concrete input shapes.
/// Its plans share packed weights, which live as long as one of the plans. Safe to use from several
/// threads.
class Executor {
 public:
  /// `stop` is called while a plan is compiled and during long runs. Throws Error(kUnsupported)
  /// naming node, operator and opset when an operator is unknown, unless its node and all nodes
  /// after it can be left out.
  explicit Executor(Graph graph, StopCheck stop = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// The graph that runs: the given graph without the nodes that left_out() describes.
  [[nodiscard]] const Graph& graph() const& noexcept;
  const Graph& graph() const&& = delete;

  /// The graph as it was given.
  [[nodiscard]] const Graph& whole_graph() const& noexcept;
  const Graph& whole_graph() const&& = delete;
  /// The nodes at the end of the network that do not run, if there are any. The outputs are then
  /// not those of the model, so tell users.
  [[nodiscard]] const std::optional<LeftOut>& left_out() const noexcept;

  /// The plan for these shapes and options. The eight plans used last are kept. Threads that ask
  /// for the same plan at once wait for one compilation. Throws Error(kInvalidModel) when shapes or
  /// types contradict each other, Error(kUsage) when an observed name does not exist.
  std::shared_ptr<const Plan> compile(const InputShapes& shapes,
                                      const CompileOptions& options = {}) const;
  [[nodiscard]] ExecutorCounts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtool
