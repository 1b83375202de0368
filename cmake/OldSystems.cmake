# Objects that are shipped run on older systems than the one that builds them: with glibc 2.28 and the libstdc++ of GCC 8, or later
# ones. old_systems.py says how; what glibc has come to define since is in runtime/OldSystems.
#   dlc_old_systems(TARGET)            for a target with libstdc++ in it
#   dlc_old_systems(TARGET libstdc++)  for a library that shares libstdc++ with its program
set(old_systems ${CMAKE_BINARY_DIR}/old-systems)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND NOT CMAKE_CXX_FLAGS MATCHES -fsanitize)
  if(NOT EXISTS ${old_systems}/libstdc++.ld OR ${CMAKE_CURRENT_LIST_DIR}/old_systems.py IS_NEWER_THAN ${old_systems}/libstdc++.ld)
    execute_process(COMMAND ${DLC_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/old_systems.py ${CMAKE_C_COMPILER} ${CMAKE_OBJDUMP}
                            "${CMAKE_SHARED_LINKER_FLAGS}" ${old_systems} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_library(dlc_old_systems OBJECT ${CMAKE_SOURCE_DIR}/runtime/OldSystems/Glibc.c)
  add_library(dlc_old_systems_start OBJECT ${CMAKE_SOURCE_DIR}/runtime/OldSystems/Start.c)
  foreach(part dlc_old_systems dlc_old_systems_start)
    target_compile_options(${part} PRIVATE -fvisibility=hidden -Wall -Wextra)
  endforeach()
endif()

# A library that is opened beside any program has a libstdc++ of its own, which nobody sees; but that of a sanitizer, whose operator
# new and delete are the program's.
function(dlc_own_libstdcxx target)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  if(NOT CMAKE_CXX_FLAGS MATCHES -fsanitize)
    target_link_options(${target} PRIVATE -static-libstdc++)
  endif()
endfunction()

function(dlc_old_systems target)
  if(NOT TARGET dlc_old_systems)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:dlc_old_systems>)
  # libstdc++.a has functions that nobody calls and that want what the stand-ins leave out, as arc4random.
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:dlc_old_systems_start>)
    # This system's own libraries, as libgcc_s, may need what the stand-ins leave out.
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined)
  endif()
  foreach(library libc ${ARGN})
    target_link_libraries(${target} PRIVATE ${old_systems}/${library}.ld)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${old_systems}/${library}.ld)
  endforeach()
endfunction()
