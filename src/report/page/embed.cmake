# Writes the C++ source INTO, which holds the page as one text: page.html with page.css, draw.js,
# sections.js and page.js in it. Runs when CMake configures, and again when one of the files has changed.
function(qtool_embed_page into)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  file(READ ${folder}/page.css QTOOL_PAGE_CSS)
  file(READ ${folder}/draw.js QTOOL_PAGE_DRAW_JS)
  file(READ ${folder}/sections.js QTOOL_PAGE_SECTIONS_JS)
  file(READ ${folder}/page.js QTOOL_PAGE_JS)
  file(READ ${folder}/page.html html)
  string(CONFIGURE "${html}" QTOOL_PAGE @ONLY)
  string(FIND "${QTOOL_PAGE}" ")qtool_page\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "the files of ${folder} contain what ends their text in C++")
  endif()
  configure_file(${folder}/page_template.cpp.in ${into} @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${folder}/page.css ${folder}/draw.js ${folder}/sections.js ${folder}/page.js ${folder}/page.html)
endfunction()
