// MatMulNBits: its weights have 2, 4 or 8 bits and lie in blocks along the input features, each
// with a scale. They become float32, because qtool has no kernel that multiplies blocks of
// integers.
#include <bit>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

struct Blocks {
  std::int64_t rows = 0;     // K, input features
  std::int64_t columns = 0;  // N, output features
  std::int64_t bits = 0;
  std::int64_t size = 0;  // input features of one block

  [[nodiscard]] std::int64_t count() const { return (rows + size - 1) / size; }
  [[nodiscard]] std::int64_t bytes() const { return size * bits / 8; }
};

std::int64_t take_extent(Upgrade& up, std::string_view name) {
  constexpr std::int64_t kMax = 1 << 24;  // so that a product of three extents does not overflow
  const std::optional<std::int64_t> value = up.take_int(name);
  if (!value) up.fail(to_text("attribute '", name, "' is missing"));
  if (*value < 1 || *value > kMax) {
    up.fail(to_text("attribute '", name, "' is ", *value, ", expected 1 to ", kMax));
  }
  return *value;
}

Blocks take_blocks(Upgrade& up) {
  Blocks blocks;
  blocks.rows = take_extent(up, "K");
  blocks.columns = take_extent(up, "N");
  blocks.size = take_extent(up, "block_size");
  blocks.bits = up.take_int("bits").value_or(4);
  if (blocks.bits != 2 && blocks.bits != 4 && blocks.bits != 8) {
    up.fail(to_text("attribute 'bits' is ", blocks.bits, ", expected 2, 4 or 8"));
  }
  if (blocks.size < 16 || !std::has_single_bit(static_cast<std::uint64_t>(blocks.size))) {
    up.fail(to_text("attribute 'block_size' is ", blocks.size,
                    ", expected a power of two of at least 16"));
  }
  return blocks;
}

// The constant at input `index`. Fails unless it has this type and this number of elements.
const Tensor& require_typed_constant(const Upgrade& up, std::size_t index, std::string_view what,
                                     DType dtype, std::int64_t elements) {
  const Tensor* tensor = up.constant(index);
  if (tensor == nullptr)
    up.fail(to_text(what, " depend on the data; only constants are supported"));
  if (tensor->dtype() != dtype || tensor->elements() != elements) {
    up.fail(to_text(what, " are ", tensor->elements(), " elements of ", name_of(tensor->dtype()),
                    ", expected ", elements, " of ", name_of(dtype)));
  }
  return *tensor;
}

// The integer `index` of a packed row; the first one lies in the lowest bits of the first byte.
std::int64_t unpack(const std::uint8_t* row, std::int64_t index, std::int64_t bits) {
  const std::int64_t bit = index * bits;
  return (row[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
}

// The zero points [N, blocks]. Input 3 holds them as float32, or as integers packed along the
// blocks. Without that input every zero point is 2^(bits - 1).
std::vector<float> zero_points(const Upgrade& up, const Blocks& blocks) {
  const std::int64_t count = blocks.count();
  std::vector<float> points(static_cast<std::size_t>(blocks.columns * count),
                            static_cast<float>(1 << (blocks.bits - 1)));
  if (up.input(3) == kNoValue) return points;
  if (up.constant(3) != nullptr && up.constant(3)->dtype() == DType::kFloat32) {
    const Tensor& reals =
        require_typed_constant(up, 3, "the zero points", DType::kFloat32, blocks.columns * count);
    points.assign(reals.values<float>().begin(), reals.values<float>().end());
    return points;
  }
  const std::int64_t stride = (count * blocks.bits + 7) / 8;
  const Tensor& packed =
      require_typed_constant(up, 3, "the zero points", DType::kUInt8, blocks.columns * stride);
  for (std::int64_t n = 0; n < blocks.columns; ++n) {
    const std::uint8_t* row = packed.values<std::uint8_t>().data() + n * stride;
    for (std::int64_t b = 0; b < count; ++b) {
      points[static_cast<std::size_t>(n * count + b)] =
          static_cast<float>(unpack(row, b, blocks.bits));
    }
  }
  return points;
}

// The weights as float32 [K, N].
Tensor unpacked(const Upgrade& up, const Blocks& blocks) {
  const std::int64_t count = blocks.count();
  const Tensor& packed = require_typed_constant(up, 1, "the weights", DType::kUInt8,
                                                blocks.columns * count * blocks.bytes());
  const Tensor& scales =
      require_typed_constant(up, 2, "the scales", DType::kFloat32, blocks.columns * count);
  const std::vector<float> zeros = zero_points(up, blocks);
  Tensor weights(DType::kFloat32, {blocks.rows, blocks.columns});
  float* out = weights.values<float>().data();
  const float* scale = scales.values<float>().data();
  for (std::int64_t n = 0; n < blocks.columns; ++n) {
    const std::uint8_t* row = packed.values<std::uint8_t>().data() + n * count * blocks.bytes();
    for (std::int64_t k = 0; k < blocks.rows; ++k) {
      const std::int64_t block = n * count + k / blocks.size;
      const auto integer = static_cast<float>(unpack(row, k, blocks.bits));
      out[k * blocks.columns + n] =
          (integer - zeros[static_cast<std::size_t>(block)]) * scale[block];
    }
  }
  return weights;
}

}  // namespace

// Inputs: x, packed weights [N, blocks, bytes], scales [N, blocks], zero points, groups, bias.
void upgrade_matmul_n_bits(Upgrade& up) {
  const Blocks blocks = take_blocks(up);
  up.drop("accuracy_level");  // precision of the products; qtool computes in float32
  if (up.take_int("weight_prepacked").value_or(0) != 0) {
    up.fail("its weights are packed for another processor");
  }
  if (up.input(4) != kNoValue) up.fail("groups of input features are not supported");
  // If many nodes read the same packed weights, each of them would get unpacked weights, and a
  // small file would become large.
  if (const std::size_t readers = up.readers(1); readers > 1) {
    up.fail(to_text("its packed weights are read ", readers, " times, expected one node"));
  }
  const ValueId weights = up.add_constant("weights", unpacked(up, blocks));
  if (up.input(5) != kNoValue) up.after("Add", {up.input(5)}, "product");
  up.set_op("MatMul");
  up.set_input(1, weights);
  up.truncate_inputs(2);
}

}  // namespace qtool
