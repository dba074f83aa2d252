#include <algorithm>
#include <cmath>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// Throws unless inputs [1, count] are float lists with one element per channel.
void require_per_channel(const OpContext& op, std::size_t count) {
  const Shape& shape = op.input(0).shape;
  op.require(shape.rank() >= 2, to_text("the input has shape ", shape.to_string(),
                                        ", expected a batch and a channel axis"));
  for (std::size_t i = 1; i <= count; ++i) {
    require_type(op, i, FloatType{});
    const Shape& list = op.input(i).shape;
    op.require(
        list.rank() == 1 && list[0] == shape[1],
        to_text("input ", i, " has shape ", list.to_string(), ", expected [", shape[1], "]"));
  }
}

std::vector<ValueInfo> infer_batch_norm(const OpContext& op) {
  require_type(op, 0, FloatType{});
  require_per_channel(op, 4);
  if (op.node.get_int("training_mode", 0) != 0) {
    op.fail(ErrorCode::kUnsupported, "it is in training mode; export the model for inference");
  }
  require_outputs(op, 1);
  return {op.input(0)};
}

// y = x * factor + offset with one pair per channel, computed at the start of each run.
class BatchNormOperator final : public Operator {
 public:
  explicit BatchNormOperator(const OpContext& op)
      : channels_(op.input(0).shape[1]),
        epsilon_(op.node.get_float("epsilon", 1e-5F)),
        nest_(op.input(0).shape.dims(), {strides_of(op.input(0).shape, op.output_layout(0)),
                                         strides_of(op.input(0).shape, op.input_layout(0)),
                                         channel_steps(op.input(0).shape.rank())}) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return 2 * channels_ * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Operands& o) const override {
    auto* factors = reinterpret_cast<float*>(o.workspace());
    float* offsets = factors + channels_;
    for (std::int64_t c = 0; c < channels_; ++c) {
      factors[c] = o.in<float>(1)[c] / std::sqrt(o.in<float>(4)[c] + epsilon_);
      offsets[c] = o.in<float>(2)[c] - o.in<float>(3)[c] * factors[c];
    }
    const float* in = o.in<float>(0);
    float* out = o.out<float>(0);
    const std::int64_t to = nest_.inner_step(0);
    const std::int64_t from = nest_.inner_step(1);
    const std::int64_t channel = nest_.inner_step(2);
    nest_.run(o.threads(), [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
      const float* x = in + at[1];
      float* y = out + at[0];
      const float* factor = factors + at[2];
      const float* offset = offsets + at[2];
      if (to == 1 && from == 1 && channel == 0) {
        const float f = *factor;
        const float b = *offset;
        for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * f + b;
      } else if (to == 1 && from == 1 && channel == 1) {
        for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * factor[i] + offset[i];
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          y[i * to] = x[i * from] * factor[i * channel] + offset[i * channel];
        }
      }
    });
  }

 private:
  static std::vector<std::int64_t> channel_steps(std::int64_t rank) {
    std::vector<std::int64_t> steps(static_cast<std::size_t>(rank), 0);
    steps[1] = 1;
    return steps;
  }

  std::int64_t channels_;
  float epsilon_;
  LoopNest<3> nest_;
};

struct Moments {
  double mean;
  double variance;  // population variance
};

Moments moments_of(const float* values, std::int64_t count) {
  double sum = 0;
  in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(values[i]);
  });
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double distance = static_cast<double>(values[i]) - mean;
      squares += distance * distance;
    }
  });
  return {mean, squares / static_cast<double>(count)};
}

std::vector<ValueInfo> infer_instance_norm(const OpContext& op) {
  require_type(op, 0, FloatType{});
  require_per_channel(op, 2);
  return {op.input(0)};
}

std::unique_ptr<Operator> make_instance_norm(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const std::int64_t channels = shape[1];
  const std::int64_t elements = shape.elements();
  const std::int64_t rows = elements == 0 ? 0 : shape[0] * channels;
  const std::int64_t width = rows == 0 ? 0 : elements / rows;
  const double epsilon = static_cast<double>(op.node.get_float("epsilon", 1e-5F));
  return make_operator([=](const Operands& o) {
    for_rows(rows, width, o.threads(), [&](std::int64_t row) {
      const float* x = o.in<float>(0) + row * width;
      float* y = o.out<float>(0) + row * width;
      const Moments moments = moments_of(x, width);
      const std::int64_t c = row % channels;
      const double factor =
          static_cast<double>(o.in<float>(1)[c]) / std::sqrt(moments.variance + epsilon);
      const double offset = static_cast<double>(o.in<float>(2)[c]) - moments.mean * factor;
      const auto f = static_cast<float>(factor);
      const auto b = static_cast<float>(offset);
      in_pieces(width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] * f + b;
      });
    });
  });
}

std::int64_t layer_axis(const OpContext& op) {
  return axis_of(op, op.node.get_int("axis", -1), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_layer_norm(const OpContext& op) {
  require_first_output(op);
  require_type(op, 0, FloatType{});
  const ValueInfo& in = op.input(0);
  const std::int64_t axis = layer_axis(op);
  const Shape part(
      std::vector<std::int64_t>(in.shape.dims().begin() + axis, in.shape.dims().end()));
  for (std::size_t i = 1; i < 3; ++i) {
    if (i == 2 && !op.has_input(2)) continue;
    require_type(op, i, FloatType{});
    op.require(op.input(i).shape == part,
               to_text("input ", i, " has shape ", op.input(i).shape.to_string(), ", expected ",
                       part.to_string()));
  }
  std::vector<std::int64_t> dims = in.shape.dims();
  std::fill(dims.begin() + axis, dims.end(), 1);
  const ValueInfo statistic{DType::kFloat32, Shape(std::move(dims))};
  return {in, statistic, statistic};
}

std::unique_ptr<Operator> make_layer_norm(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const std::int64_t elements = shape.elements();
  const std::int64_t width = op.input(1).shape.elements();
  const std::int64_t rows = elements == 0 ? 0 : elements / width;
  const double epsilon = static_cast<double>(op.node.get_float("epsilon", 1e-5F));
  return make_operator([=](const Operands& o) {
    const float* scale = o.in<float>(1);
    const float* bias = o.has_input(2) ? o.in<float>(2) : nullptr;
    for_rows(rows, width, o.threads(), [&](std::int64_t row) {
      const float* x = o.in<float>(0) + row * width;
      float* y = o.out<float>(0) + row * width;
      const Moments moments = moments_of(x, width);
      const auto mean = static_cast<float>(moments.mean);
      const auto factor = static_cast<float>(1.0 / std::sqrt(moments.variance + epsilon));
      in_pieces(width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = (x[i] - mean) * factor * scale[i];
        if (bias == nullptr) return;
        for (std::int64_t i = begin; i < end; ++i) y[i] += bias[i];
      });
      if (o.has_output(1)) o.out<float>(1)[row] = mean;
      if (o.has_output(2)) o.out<float>(2)[row] = factor;
    });
  });
}

struct LrnOptions {
  std::int64_t size;
  float alpha;
  float beta;
  float bias;
};

LrnOptions lrn_options(const OpContext& op) {
  const LrnOptions options{op.node.get_int("size", 0), op.node.get_float("alpha", 1e-4F),
                           op.node.get_float("beta", 0.75F), op.node.get_float("bias", 1.0F)};
  op.require(options.size >= 1 && options.size <= 1 << 20,
             to_text("attribute 'size' is ", options.size, ", expected a positive number"));
  return options;
}

std::vector<ValueInfo> infer_lrn(const OpContext& op) {
  require_type(op, 0, FloatType{});
  static_cast<void>(lrn_options(op));
  const Shape& shape = op.input(0).shape;
  op.require(shape.rank() >= 2, to_text("the input has shape ", shape.to_string(),
                                        ", expected a batch and a channel axis"));
  return {op.input(0)};
}

// y = x / (bias + alpha / size * squares)^beta, with the squares summed over `size` channels around
// this one.
void normalize_channel(const LrnOptions& options, const float* image, std::int64_t channel,
                       std::int64_t channels, std::int64_t pixels, float* out) {
  constexpr std::int64_t kLrnBlock = 256;
  float squares[kLrnBlock];
  const std::int64_t first = std::max<std::int64_t>(0, channel - (options.size - 1) / 2);
  const std::int64_t last = std::min(channels - 1, channel + options.size / 2);
  const float factor = options.alpha / static_cast<float>(options.size);
  StopPace pace;
  for (std::int64_t begin = 0; begin < pixels; begin += kLrnBlock) {
    const std::int64_t width = std::min(kLrnBlock, pixels - begin);
    pace.step((last - first + 1) * width);
    std::fill_n(squares, width, 0.0F);
    for (std::int64_t c = first; c <= last; ++c) {
      const float* x = image + c * pixels + begin;
      for (std::int64_t i = 0; i < width; ++i) squares[i] += x[i] * x[i];
    }
    const float* x = image + channel * pixels + begin;
    float* y = out + begin;
    for (std::int64_t i = 0; i < width; ++i) squares[i] = options.bias + factor * squares[i];
    if (options.beta == 0.75F) {  // the usual value; two square roots are faster than a power
      for (std::int64_t i = 0; i < width; ++i) {
        const float root = std::sqrt(squares[i]);
        y[i] = x[i] / (root * std::sqrt(root));
      }
    } else {
      for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] / std::pow(squares[i], options.beta);
    }
  }
}

std::unique_ptr<Operator> make_lrn(const OpContext& op) {
  const Shape& shape = op.input(0).shape;
  const LrnOptions options = lrn_options(op);
  const std::int64_t channels = shape[1];
  const std::int64_t elements = shape.elements();
  const std::int64_t rows = elements == 0 ? 0 : shape[0] * channels;
  const std::int64_t pixels = rows == 0 ? 0 : elements / rows;
  return make_operator([=](const Operands& o) {
    for_rows(rows, pixels, o.threads(), [&](std::int64_t row) {
      const std::int64_t channel = row % channels;
      normalize_channel(options, o.in<float>(0) + (row - channel) * pixels, channel, channels,
                        pixels, o.out<float>(0) + row * pixels);
    });
  });
}

}  // namespace

OpDef op_BatchNormalization() {
  return {infer_batch_norm,
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<BatchNormOperator>(op);
          },
          LayoutRule::kAny};
}
OpDef op_InstanceNormalization() { return {infer_instance_norm, make_instance_norm}; }
OpDef op_LayerNormalization() { return {infer_layer_norm, make_layer_norm}; }
OpDef op_LRN() { return {infer_lrn, make_lrn}; }

}  // namespace qtool
