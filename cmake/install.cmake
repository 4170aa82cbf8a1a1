# What `make install` lays down, and how other projects find it (CMake and pkg-config).

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nadir)

# Two export sets: whoever links the shared library does not need what only the static one asks for.
install(TARGETS nadir EXPORT nadir-shared)
install(TARGETS nadir_static EXPORT nadir-static)
foreach(kind shared static)
    install(EXPORT nadir-${kind} NAMESPACE nadir:: DESTINATION ${package_dir})
endforeach()
if(TARGET nadir_command)
    install(TARGETS nadir_command)
endif()
install(FILES include/nadir.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/nadir-config.cmake.in nadir-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(nadir-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/nadir-config.cmake
    ${PROJECT_BINARY_DIR}/nadir-config-version.cmake
    cmake/FindKLU.cmake
    DESTINATION ${package_dir})

# The prefix is chosen at install time, so nadir.pc finds it from its own place.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
# What only a static link needs. No Requires.private: pkg-config would want those packages for the shared library
# too.
set(pc_private -lm -pthread ${OpenMP_C_FLAGS} -lklu)
foreach(package IN LISTS NADIR_PACKAGES)
    list(APPEND pc_private ${${package}_LDFLAGS})
endforeach()
list(JOIN pc_private " " pc_private)
configure_file(cmake/nadir.pc.in nadir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nadir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
