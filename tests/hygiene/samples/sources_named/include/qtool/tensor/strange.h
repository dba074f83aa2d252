#pragma once

namespace qtool {

/// A declaration in two lines.
int strange(int first,
            int second) noexcept;

}  // namespace qtool
