#include "operator_cases.h"

#include <map>
#include <utility>
#include <variant>

namespace qtool {

onnx::AttributeProto& add(onnx::NodeProto& node, const std::string& name,
                          onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

namespace {

using Value = std::variant<std::int64_t, float, std::string, Ints>;

/// A function that sets these attributes.
std::function<void(onnx::NodeProto&)> with(std::vector<std::pair<std::string, Value>> values) {
  return [values = std::move(values)](onnx::NodeProto& node) {
    for (const auto& [name, value] : values) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        add(node, name, onnx::AttributeProto::INT).set_i(*number);
      } else if (const auto* real = std::get_if<float>(&value)) {
        add(node, name, onnx::AttributeProto::FLOAT).set_f(*real);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        add(node, name, onnx::AttributeProto::STRING).set_s(*text);
      } else {
        onnx::AttributeProto& list = add(node, name, onnx::AttributeProto::INTS);
        for (const std::int64_t item : std::get<Ints>(value)) list.add_ints(item);
      }
    }
  };
}

onnx::TensorProto ints(const Ints& values, const Ints& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

onnx::TensorProto floats(const std::vector<float>& values, const Ints& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

const std::int64_t kOne = 1;

void add_resizes(std::vector<Case>& list) {
  const auto resize = [&](std::int64_t opset, const char* mode,
                          std::vector<std::pair<std::string, Value>> attributes,
                          std::vector<onnx::TensorProto> constants) {
    attributes.emplace_back("mode", std::string(mode));
    list.push_back({"Resize", opset, {{1, 2, 9, 8}}, with(attributes), std::move(constants)});
  };
  const onnx::TensorProto none;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const std::pair<std::string, Value> crop = {"coordinate_transformation_mode",
                                                std::string("tf_crop_and_resize")};
    resize(18, mode, {crop, {"extrapolation_value", 7.0F}},
           {floats({0, 0, 0.2F, -0.1F, 1, 1, 0.9F, 1.2F}, {8}), none, ints({1, 2, 5, 6}, {4})});
    for (const char* policy : {"not_larger", "not_smaller"}) {
      resize(18, mode, {{"keep_aspect_ratio_policy", std::string(policy)}, {"axes", Ints{2, 3}}},
             {none, none, ints({5, 6}, {2})});
    }
    resize(18, mode, {{"axes", Ints{3, 2}}}, {none, floats({1.7F, 0.6F}, {2})});
    resize(19, mode, {{"coordinate_transformation_mode", std::string("half_pixel_symmetric")}},
           {none, floats({1, 1, 0.6F, 1.7F}, {4})});
  }
  for (const char* mode : {"linear", "cubic"}) {
    resize(18, mode, {{"antialias", kOne}}, {none, floats({1, 1, 0.6F, 0.4F}, {4})});
    resize(18, mode, {{"antialias", kOne}}, {none, none, ints({1, 2, 4, 13}, {4})});
  }
}

// Operators that came, or changed, after opset 17.
void add_newer(std::vector<Case>& list) {
  const auto text = [](const char* value) { return std::string(value); };
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    list.push_back({op, 18, {{2, 3, 4}, {3, 1}}, {}, {}, 0, -100, 100, true});
  }
  list.push_back({"BitwiseNot", 18, {{2, 3}}, {}, {}, 0, -100, 100, true});
  list.push_back({"Col2Im",
                  18,
                  {{2, 12, 15}},
                  with({{"strides", Ints{1, 2}}, {"pads", Ints{0, 1, 1, 0}}}),
                  {ints({5, 6}, {2}), ints({2, 2}, {2})}});
  list.push_back({"Col2Im",
                  18,
                  {{1, 6, 8}},
                  with({{"dilations", Ints{1, 2}}}),
                  {ints({4, 6}, {2}), ints({1, 3}, {2})}});
  list.push_back({"CenterCropPad", 18, {{5, 8, 3}}, {}, {ints({8, 5, 4}, {3})}});
  list.push_back(
      {"CenterCropPad", 18, {{5, 8, 3}}, with({{"axes", Ints{-1, 0}}}), {ints({1, 2}, {2})}});
  list.push_back({"LpPool",
                  18,
                  {{1, 2, 9, 8}},
                  with({{"kernel_shape", Ints{3, 2}},
                        {"dilations", Ints{2, 3}},
                        {"ceil_mode", kOne},
                        {"strides", Ints{2, 2}}}),
                  {}});
  list.push_back(
      {"AveragePool",
       19,
       {{1, 2, 9, 8}},
       with({{"kernel_shape", Ints{3, 2}}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}}),
       {}});
  list.push_back({"Pad", 19, {{3, 4}}, with({{"mode", text("wrap")}}), {ints({1, 2, 2, 1}, {4})}});
  for (const char* reduction : {"max", "min"}) {
    list.push_back({"ScatterND",
                    18,
                    {{4, 3}},
                    with({{"reduction", text(reduction)}}),
                    {ints({1, 1}, {2, 1}), floats({0.1F, 0.2F, 0.3F, -1, 2, 0}, {2, 3})}});
    list.push_back({"ScatterElements",
                    18,
                    {{4, 3}},
                    with({{"reduction", text(reduction)}}),
                    {ints({0, 2, 0}, {1, 3}), floats({0.1F, -2, 0.3F}, {1, 3})}});
  }
  for (const std::int64_t corners : {0, 1}) {
    for (const char* mode : {"nearest", "linear"}) {
      list.push_back({"GridSample",
                      20,
                      {{1, 3, 3, 4, 5}, {1, 2, 3, 4, 3}},
                      with({{"mode", text(mode)},
                            {"align_corners", corners},
                            {"padding_mode", text("reflection")}}),
                      {},
                      1e-5,
                      -1.3F,
                      1.3F});
    }
    list.push_back({"GridSample",
                    20,
                    {{1, 3, 4, 5}, {1, 3, 4, 2}},
                    with({{"mode", text("cubic")}, {"align_corners", corners}}),
                    {}});
    list.push_back({"AffineGrid",
                    20,
                    {{2, 2, 3}},
                    with({{"align_corners", corners}}),
                    {ints({2, 3, 4, 5}, {4})}});
    list.push_back({"AffineGrid",
                    20,
                    {{1, 3, 4}},
                    with({{"align_corners", corners}}),
                    {ints({1, 3, 2, 4, 5}, {5})}});
  }
  list.push_back({"Mish", 18, {{2, 3, 4, 5}}, {}, {}, 1e-5, -6, 6});
  list.push_back({"Gelu", 20, {{2, 3, 4, 5}}, {}, {}, 1e-5, -6, 6});
  list.push_back(
      {"Gelu", 20, {{2, 3, 4, 5}}, with({{"approximate", text("tanh")}}), {}, 1e-5, -6, 6});
  list.push_back({"GroupNormalization",
                  21,
                  {{2, 4, 3, 5}},
                  with({{"num_groups", kOne + 1}}),
                  {floats({1, 2, 3, 4}, {4}), floats({0, 1, 0, 1}, {4})}});
  list.push_back({"ReduceL2", 18, {{2, 3, 4}}, {}, {ints({1}, {1})}});
  add_resizes(list);
}

}  // namespace

std::vector<Case> operator_cases() {
  std::vector<Case> list;
  const auto text = [](const char* value) { return std::string(value); };
  for (const std::int64_t p : {1, 2, 3}) {
    list.push_back({"GlobalLpPool", 17, {{2, 3, 5, 4}}, with({{"p", p}}), {}});
    list.push_back({"LpPool",
                    17,
                    {{2, 3, 9, 8}},
                    with({{"p", p},
                          {"kernel_shape", Ints{3, 2}},
                          {"strides", Ints{2, 1}},
                          {"pads", Ints{1, 0, 1, 1}}}),
                    {}});
    list.push_back({"LpPool",
                    17,
                    {{1, 3, 9, 8}},
                    with({{"p", p},
                          {"kernel_shape", Ints{3, 3}},
                          {"strides", Ints{2, 2}},
                          {"auto_pad", text("SAME_UPPER")}}),
                    {}});
    list.push_back({"LpPool", 17, {{2, 3, 11}}, with({{"p", p}, {"kernel_shape", Ints{4}}}), {}});
  }
  for (const std::int64_t axis : {0, 1, -1}) {
    for (const std::int64_t p : {1, 2}) {
      list.push_back({"LpNormalization", 17, {{3, 4, 5}}, with({{"axis", axis}, {"p", p}}), {}});
    }
  }
  // Matrix products with their axes in any order, and equations that are no matrix product.
  for (const char* equation : {"bij,bjk->bik", "bhid,bhjd->bhij", "nchw,kc->nkhw", "ij,jk->ki",
                               "bij,bik->kj", "bij,bjk", "...ij,...jk->...ik"}) {
    const std::string terms = equation;
    const std::map<std::string, std::vector<Ints>> shapes = {
        {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
        {"bhid,bhjd->bhij", {{2, 3, 4, 8}, {2, 3, 5, 8}}},
        {"nchw,kc->nkhw", {{2, 3, 4, 5}, {6, 3}}},
        {"ij,jk->ki", {{3, 4}, {4, 5}}},
        {"bij,bik->kj", {{2, 3, 4}, {2, 3, 5}}},
        {"bij,bjk", {{2, 3, 4}, {2, 4, 5}}},
        {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 6}}}};
    list.push_back({"Einsum", 17, shapes.at(terms), with({{"equation", terms}}), {}});
  }
  list.push_back(
      {"Einsum", 17, {{3, 4}, {4, 5}, {5, 2}}, with({{"equation", text("ab,bc,cd->ad")}}), {}});
  list.push_back({"Einsum", 17, {{3, 4}, {4}}, with({{"equation", text("ij,j->j")}}), {}});
  list.push_back({"Einsum", 17, {{4, 4, 3}}, with({{"equation", text("iij->j")}}), {}});
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t corners : {0, 1}) {
        Case test{"GridSample",
                  17,
                  {{2, 5, 6, 7}, {2, 4, 3, 2}},
                  with({{"mode", text(mode)},
                        {"padding_mode", text(padding)},
                        {"align_corners", corners}}),
                  {}};
        test.low = -1.3F;
        test.high = 1.3F;
        list.push_back(test);
      }
    }
  }
  for (const char* coordinates : {"half_pixel", "output_half_pixel"}) {
    for (const std::int64_t samples : {0, 2}) {
      list.push_back(
          {"RoiAlign",
           17,
           {{2, 3, 10, 12}},
           with({{"coordinate_transformation_mode", text(coordinates)},
                 {"output_height", std::int64_t{3}},
                 {"output_width", std::int64_t{2}},
                 {"sampling_ratio", samples},
                 {"spatial_scale", 0.5F}}),
           {floats({1, 2, 15, 17, 0, 0, 30, 30, 4, 4, 4.5F, 5}, {3, 4}), ints({0, 1, 1}, {3})}});
    }
  }
  for (const char* reduction : {"none", "add", "mul"}) {
    list.push_back(
        {"ScatterND",
         17,
         {{4, 5, 3}},
         with({{"reduction", text(reduction)}}),
         {ints({1, 4, 3, -5, 0, 2}, {3, 2}), floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3})}});
    list.push_back({"ScatterElements",
                    17,
                    {{4, 3}},
                    with({{"axis", std::int64_t{1}}, {"reduction", text(reduction)}}),
                    {ints({0, 2, 1, -1}, {2, 2}), floats({1, 2, 3, 4}, {2, 2})}});
  }
  add_newer(list);
  return list;
}

}  // namespace qtool
