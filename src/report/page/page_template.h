#pragma once

#include <string_view>

namespace qtool {

/// page.html with page.css, draw.js and page.js in it, put together when CMake configures.
/// QTOOL_PAGE_DATA marks the place of the figures.
extern const std::string_view kPageTemplate;

}  // namespace qtool
