# `cmake --install` and find_package(qtool).
install(TARGETS qtool EXPORT qtoolTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS qtool_core qtool_engine EXPORT qtoolTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/qtool DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT qtoolTargets NAMESPACE qtool:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qtool)

configure_package_config_file(cmake/qtoolConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/qtoolConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qtool)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/qtoolConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/qtoolConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/qtoolConfigVersion.cmake
  cmake/QtoolDependencies.cmake
  cmake/FindWebP.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/qtool)
