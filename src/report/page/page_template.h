#pragma once

#include <string_view>

namespace qtool {

/// page.html with page.css and page.js in it, put together when the library is built.
/// QTOOL_PAGE_DATA stands where the figures belong.
extern const std::string_view kPageTemplate;

}  // namespace qtool
