# What `cmake --install` puts where. Components: runtime (libdlc.so.0), images, lmdb, hdf5, mpi and cuda (the plugins that it and dlc-run open),
# tools (dlc-run), development (headers, libdlc.a, what find_package and pkg-config read), compiler (dlc, its standard library, make-digits).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# dlc_install_tool(TOOL COMPONENT PURPOSE): with its manual page and completions, made from its help after each build of it.
function(dlc_install_tool tool component purpose)
  set(script ${CMAKE_SOURCE_DIR}/cmake/tool_pages.py)
  set(pages man/man1/${tool}.1.gz bash-completion/completions/${tool} zsh/vendor-completions/_${tool} fish/vendor_completions.d/${tool}.fish)
  list(TRANSFORM pages PREPEND ${CMAKE_BINARY_DIR}/share/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${files} DEPENDS ${tool} ${script} VERBATIM
    COMMAND ${DLC_PYTHON} ${script} $<TARGET_FILE:${tool}> ${PROJECT_VERSION} ${purpose} ${CMAKE_BINARY_DIR})
  add_custom_target(${tool}-pages ALL DEPENDS ${files})
  add_dependencies(all-tools ${tool}-pages)
  install(TARGETS ${tool} RUNTIME COMPONENT ${component})
  foreach(page ${pages})
    get_filename_component(folder ${page} DIRECTORY)
    install(FILES ${CMAKE_BINARY_DIR}/share/${page} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT ${component})
  endforeach()
endfunction()

function(dlc_install_runtime)
  install(TARGETS libdlc EXPORT dlcTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
  install(TARGETS libdlc-static EXPORT dlcTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  foreach(plugin images lmdb hdf5 mpi cuda)
    if(TARGET dlc_${plugin})
      install(TARGETS dlc_${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${plugin})
    endif()
  endforeach()
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/dlc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  # As source: a .mod file belongs to one compiler.
  install(FILES ${CMAKE_SOURCE_DIR}/runtime/fortran/dlc.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlc COMPONENT development)

  # Programs write dlc::dlc or dlc::static.
  foreach(library libdlc libdlc-static)
    target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${library} INTERFACE cxx_std_20)
  endforeach()
  set_target_properties(libdlc PROPERTIES EXPORT_NAME dlc)
  set_target_properties(libdlc-static PROPERTIES EXPORT_NAME static)
  target_link_libraries(libdlc-static INTERFACE minizip z Threads::Threads ${CMAKE_DL_LIBS})
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/dlc)
  install(EXPORT dlcTargets NAMESPACE dlc:: DESTINATION ${folder} COMPONENT development)
  # Not where CMake would look for the package itself, if a program's path has the build's bin in it.
  set(made ${CMAKE_BINARY_DIR}/CMakeFiles/package)
  file(WRITE ${made}/dlcConfig.cmake
    "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/dlcTargets.cmake)\n")
  write_basic_package_version_file(${made}/dlcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${made}/dlcConfig.cmake ${made}/dlcConfigVersion.cmake DESTINATION ${folder}
          COMPONENT development)

  # By its own place, so that a tree may be moved.
  file(RELATIVE_PATH prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${CMAKE_SOURCE_DIR}/runtime/dlc.pc.in ${made}/dlc.pc @ONLY)
  install(FILES ${made}/dlc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()
