#pragma once

#include <cstdint>

#include "qtool/samples/samples.h"

namespace qtool {

/// The fingerprint of the list and of what is in it, the bytes of images and the values of tensors:
/// for results that are kept and must not be taken for those of files that changed since. Cost:
/// reads all of it once. Throws as load_tensors(); an image that cannot be read counts as one.
std::uint64_t content_hash_of(const Samples& samples);

}  // namespace qtool
