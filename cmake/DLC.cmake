# Libraries and tests in general.
#   dlc_runtime_library(NAME sources...)   C++ only: may not see an MLIR or LLVM header
# Those on top of MLIR and LLVM: Compiler.cmake.

add_library(dlc_options INTERFACE)
target_include_directories(dlc_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
target_compile_options(dlc_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-comment
                                             -fvisibility-inlines-hidden)

# What most files read of the standard library, precompiled once for all that are compiled with the same flags.
set(dlc_standard_headers <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring>
  <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view>
  <thread> <unordered_map> <utility> <variant> <vector>)

# dlc_precompiled_headers(NAME OPTIONS flags... LIBRARIES X... HEADERS <a.h>...): owns them; other targets have REUSE_FROM NAME.
function(dlc_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LIBRARIES;HEADERS" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "// Owns precompiled headers.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# A release build optimises lightly (-O1): the compiler's time is spent inside LLVM, and building has to be quick. The runtime is
# optimised for size, as most of it reads, checks or tells something once a run, and in full where dlc_hot() says so.
set(runtime_options -fvisibility=hidden $<$<CONFIG:Release>:-Os>)
dlc_precompiled_headers(dlc_pch_runtime OPTIONS ${runtime_options} LIBRARIES dlc_options HEADERS ${dlc_standard_headers})
function(dlc_runtime_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC dlc_options)
  target_compile_options(${name} PRIVATE ${runtime_options})
  target_precompile_headers(${name} REUSE_FROM dlc_pch_runtime)
endfunction()

# dlc_hot(FILE...): files of the runtime that work in each step or on each sample, without the precompiled headers.
function(dlc_hot)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# dlc_uses_exceptions(FILE...): files that call a library which throws, without the precompiled headers.
function(dlc_uses_exceptions)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# dlc_command_line(FILE...): files that read flags and print. Nothing in them is hot, and optimising the headers of CLI11 and
# of nlohmann/json would take most of their time.
function(dlc_command_line)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fexceptions;-O0" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# dlc_unit_test(NAME SOURCES a.cpp ... LIBRARIES X ...): a GoogleTest program; each of its tests is a ctest test.
function(dlc_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} dlc_options GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)  # as the precompiled headers were
  if(ARG_LIBRARIES MATCHES "DLC(Dialects|Passes|Codegen|Frontend)|DLCTestInterpreter")
    target_link_libraries(${name} PRIVATE dlc_mlir_options)
    target_compile_options(${name} PRIVATE -fno-exceptions)
    if(ARG_LIBRARIES MATCHES "DLCCodegen")
      target_precompile_headers(${name} REUSE_FROM dlc_pch_codegen_tests)
    else()
      target_precompile_headers(${name} REUSE_FROM dlc_pch_compiler_tests)
    endif()
  else()
    target_compile_options(${name} PRIVATE -O0)
    target_precompile_headers(${name} REUSE_FROM dlc_pch_runtime_tests)
  endif()
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()

# dlc_test_tool(NAME): a program that lit tests run; built by the target dlc-tests.
function(dlc_test_tool name)
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
endfunction()
