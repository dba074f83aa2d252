// A kernel with other tiles than the rest gets what its layout asks for: the convolutions that run
// on it have the bits of the portable kernel.
#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "support/kernel_cases.h"

namespace qtool {
namespace {

#if defined(__x86_64__)  // the row is in the list of this architecture

struct Layer {
  std::int64_t in, out, groups, kernel, side, stride, pad;
};

constexpr Layer kLayers[] = {
    {1, 1, 1, 1, 1, 1, 0}, {2, 7, 1, 1, 5, 1, 0},   {3, 16, 1, 3, 9, 2, 1},
    {4, 5, 1, 3, 8, 1, 1}, {16, 33, 1, 1, 6, 1, 0}, {24, 21, 3, 3, 7, 1, 1},
    {6, 6, 3, 3, 6, 1, 1}, {8, 80, 1, 2, 6, 2, 0},  {17, 14, 1, 5, 6, 1, 2},
};

struct LayerResults {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> added;
  std::vector<float> floats;
  std::vector<std::int32_t> sums;
  friend bool operator==(const LayerResults&, const LayerResults&) = default;
};

class LayerRun {
 public:
  explicit LayerRun(const Layer& layer) {
    std::mt19937 random(static_cast<unsigned>(layer.in * 100 + layer.out));
    weights_.in_channels = layer.in;
    weights_.out_channels = layer.out;
    weights_.groups = layer.groups;
    weights_.kernel_h = layer.kernel;
    weights_.kernel_w = layer.kernel;
    weights_.input_zero_point = 77;
    values_.resize(static_cast<std::size_t>(layer.out * layer.in / layer.groups * layer.kernel *
                                            layer.kernel));
    tests::randomize(random, tests::Spread::kExtremes, values_.data(), values_.size());
    weights_.values = values_;
    for (std::int64_t c = 0; c < layer.out; ++c) {
      zero_points_.push_back(static_cast<std::int32_t>(tests::pick(random, -128, 127)));
      bias_.push_back(static_cast<std::int32_t>(tests::pick(random, -100000, 100000)));
      scale_.push_back(static_cast<float>(tests::pick(random, 1, 1000)) / 1e6F);
    }
    weights_.bias = bias_;
    if (layer.out % 2 == 1) weights_.weight_zero_points = zero_points_;
    shape_.batch = 2;
    shape_.in_h = shape_.in_w = layer.side;
    shape_.stride_h = shape_.stride_w = layer.stride;
    shape_.pad_top = shape_.pad_left = layer.pad;
    shape_.out_h = shape_.out_w = (layer.side + 2 * layer.pad - layer.kernel) / layer.stride + 1;
    input_.resize(static_cast<std::size_t>(shape_.batch * layer.side * layer.side * layer.in));
    tests::randomize(random, tests::Spread::kUniform, input_.data(), input_.size());
    residual_.resize(
        static_cast<std::size_t>(shape_.batch * shape_.out_h * shape_.out_w * layer.out));
    tests::randomize(random, tests::Spread::kUniform, residual_.data(), residual_.size());
  }

  [[nodiscard]] LayerResults on(const KernelSelection& selection, int threads) const {
    Epilogue epilogue;
    epilogue.multiplier = scale_;
    epilogue.zero_point = 121;
    epilogue.low = 3;
    Epilogue adding = epilogue;
    adding.residual = {0.75F, 100};
    LayerResults results;
    run(PackedConv(weights_, epilogue, selection), threads, results.bytes);
    run(PackedConv(weights_, adding, selection), threads, results.added,
        {.residual = residual_.data()});
    run(PackedConv(weights_, scale_, scale_, selection), threads, results.floats);
    run(PackedConv::of_sums(weights_, selection), threads, results.sums);
    return results;
  }

 private:
  template <typename T>
  void run(const PackedConv& conv, int threads, std::vector<T>& output,
           const ConvAdded& added = {}) const {
    output.resize(residual_.size());
    std::vector<std::byte> workspace(
        static_cast<std::size_t>(conv.workspace_bytes(shape_, threads)));
    conv.run(shape_, input_.data(), output.data(), workspace.data(), threads, added);
  }

  ConvWeights weights_;
  ConvShape shape_;
  std::vector<std::int8_t> values_;
  std::vector<std::int32_t> zero_points_;
  std::vector<std::int32_t> bias_;
  std::vector<float> scale_;
  std::vector<std::uint8_t> input_;
  std::vector<std::uint8_t> residual_;
};

TEST(AKernelWithAnotherLayout, GivesTheBitsOfTheOthers) {
  const KernelSelection toy{CpuFeatures(), "toy"};
  const GemmLayout& layout = select_kernel(gemm_kernels(), toy).functions->layout;
  const GemmLayout usual;
  EXPECT_NE(layout.panel, usual.panel);
  EXPECT_NE(layout.group, usual.group);
  EXPECT_NE(layout.max_panels, usual.max_panels);
  EXPECT_NE(layout.input_offset, usual.input_offset);
  for (const Layer& layer : kLayers) {
    const LayerRun one(layer);
    const LayerResults expected = one.on({CpuFeatures(), "portable"}, 1);
    for (const int threads : {1, 3}) {
      EXPECT_TRUE(one.on(toy, threads) == expected)
          << to_text(layer.in, " to ", layer.out, ", kernel ", layer.kernel, ", groups ",
                     layer.groups, ", ", threads, " threads");
    }
  }
}

#endif

}  // namespace
}  // namespace qtool
