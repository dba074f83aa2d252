#pragma once

#include <filesystem>

namespace qtool {

/// Resolves `relative` inside `folder` and follows symbolic links. Throws Error(kInvalidModel) when
/// the result lies outside `folder`, or when `relative` is empty, is absolute or holds a NUL.
std::filesystem::path resolve_inside(const std::filesystem::path& folder,
                                     const std::filesystem::path& relative);

}  // namespace qtool
