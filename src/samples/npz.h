#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "samples/byte_source.h"

namespace qtool {

/// An array in an .npz archive, which is a ZIP archive of .npy files.
struct NpzMember {
  std::string name;         ///< without `.npy`
  std::int64_t offset = 0;  ///< of its local header in the archive
  std::int64_t stored = 0;  ///< bytes in the archive
  std::int64_t size = 0;    ///< bytes of the .npy file
  bool deflated = false;
};

/// The arrays of an archive, in its order. Throws Error(kIo), Error(kInvalidArgument) for what is
/// no archive or a corrupt one, Error(kUnsupported) for encryption, compression other than deflate
/// and archives beyond 4 GiB. Source: PKWARE's APPNOTE, version 6.3.
std::vector<NpzMember> npz_members(const std::filesystem::path& path);

/// Their names.
std::vector<std::string> npz_array_names(const std::filesystem::path& path);

/// The .npy file of a member; nothing is unpacked before it is read. Reading backwards unpacks
/// from the beginning. Throws as npz_members().
std::unique_ptr<ByteSource> open_member(const std::filesystem::path& path, const NpzMember& member);

}  // namespace qtool
