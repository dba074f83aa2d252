#pragma once

#include <cstdint>

#include "qtool/samples/samples.h"

namespace qtool {

/// A fingerprint of the list of samples and of their contents: the bytes of images and the values
/// of tensors. It detects that stored results belong to files that have changed since. Cost: reads
/// all samples once. Throws as load_tensors() does. An image that cannot be read is hashed as
/// unreadable.
std::uint64_t content_hash_of(const Samples& samples);

}  // namespace qtool
