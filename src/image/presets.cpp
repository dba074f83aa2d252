#include <array>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/image/preprocess.h"

namespace qtool {
namespace {

// The statistics of ImageNet in pixel units: 255 * (0.485, 0.456, 0.406), (0.229, 0.224, 0.225).
Preprocess imagenet_statistics() {
  Preprocess preset;
  preset.mean = {123.675F, 116.28F, 103.53F};
  preset.std = {58.395F, 57.12F, 57.375F};
  return preset;
}

Preprocess squash_224() {
  Preprocess preset;
  preset.resize = ResizeMode::kSquash;
  preset.resize_width = preset.resize_height = 224;
  return preset;
}

Preprocess preset_caffe() {
  Preprocess preset = squash_224();
  preset.channels = ChannelOrder::kBgr;
  preset.mean = {104.0F, 117.0F, 123.0F};
  return preset;
}

Preprocess preset_cifar() { return imagenet_statistics(); }

Preprocess preset_imagenet() {
  Preprocess preset = imagenet_statistics();
  preset.resize = ResizeMode::kShorterSide;
  preset.resize_shorter = 256;
  preset.crop_width = preset.crop_height = 224;
  return preset;
}

Preprocess preset_raw() { return {}; }

Preprocess preset_tf() {
  Preprocess preset = squash_224();
  preset.mean = {127.5F};
  preset.std = {127.5F};
  return preset;
}

Preprocess preset_yolo() {
  Preprocess preset;
  preset.resize = ResizeMode::kLetterbox;
  preset.resize_width = preset.resize_height = 640;
  preset.std = {255.0F};
  return preset;
}

Preprocess preset_yolox() {
  Preprocess preset = preset_yolo();
  preset.channels = ChannelOrder::kBgr;
  preset.std = {1.0F};
  return preset;
}

constexpr std::array kPresets = {
#define QTOOL_PRESET(name, summary) PreprocessPreset{#name, summary},
#include "image/presets.inc"
#undef QTOOL_PRESET
};

using Maker = Preprocess (*)();
constexpr std::array<Maker, kPresets.size()> kMakers = {
#define QTOOL_PRESET(name, summary) preset_##name,
#include "image/presets.inc"
#undef QTOOL_PRESET
};

}  // namespace

std::span<const PreprocessPreset> preprocess_presets() { return kPresets; }

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PreprocessPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Preprocess preprocess_preset(std::string_view name) {
  for (std::size_t i = 0; i < kPresets.size(); ++i) {
    if (kPresets[i].name == name) return kMakers[i]();
  }
  throw Error(ErrorCode::kUsage, to_text("preprocessing '", name, "' is unknown",
                                         expected_text(name, preset_names())));
}

}  // namespace qtool
