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
  std::int64_t offset = 0;  ///< position of its local header in the archive
  std::int64_t stored = 0;  ///< bytes in the archive
  std::int64_t size = 0;    ///< bytes of the .npy file
  bool deflated = false;
};

/// The arrays of an archive, in the order of the archive. Throws Error(kIo) when the file cannot be
/// read, and Error(kInvalidArgument) when it is not an archive or is corrupt. Throws
/// Error(kUnsupported) for encryption, compression other than deflate, archives beyond 4 GiB, and
/// compressed arrays of more than 1 GiB. Source: PKWARE's APPNOTE, version 6.3.
std::vector<NpzMember> npz_members(const std::filesystem::path& path);

/// The names of the arrays of an archive. Throws as npz_members() does.
std::vector<std::string> npz_array_names(const std::filesystem::path& path);

/// Opens the .npy file of a member. Bytes are unpacked only when they are read. Reading from an
/// earlier position unpacks again from the beginning. Throws as npz_members() does.
std::unique_ptr<ByteSource> open_member(const std::filesystem::path& path, const NpzMember& member);

}  // namespace qtool
