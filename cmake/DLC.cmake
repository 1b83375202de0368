# The two kinds of library in this project.
#   dlc_runtime_library(NAME sources...)   C++ only: may not see an MLIR or LLVM header
#   dlc_compiler_library(NAME sources...)  on top of MLIR/LLVM, without exceptions, shared precompiled headers

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(DLC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")


add_library(dlc_options INTERFACE)
target_include_directories(dlc_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
target_compile_options(dlc_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-comment
                                             -fvisibility-inlines-hidden)

add_library(dlc_mlir_options INTERFACE)
target_link_libraries(dlc_mlir_options INTERFACE dlc_options MLIR LLVM)
target_include_directories(dlc_mlir_options INTERFACE ${CMAKE_BINARY_DIR})
target_include_directories(dlc_mlir_options SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(dlc_mlir_options INTERFACE ${DLC_LLVM_DEFINITIONS})

# A release build optimises lightly (-O1): the compiler's time is spent inside LLVM, and building has to be quick. The runtime is
# optimised in full.
function(dlc_runtime_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC dlc_options)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
endfunction()

# One precompiled header, built once, for everything that includes MLIR.
file(WRITE ${CMAKE_BINARY_DIR}/pch_anchor.cpp "// Owns the precompiled header that all compiler libraries reuse.\n")
add_library(dlc_pch OBJECT ${CMAKE_BINARY_DIR}/pch_anchor.cpp)
target_link_libraries(dlc_pch PUBLIC dlc_mlir_options)
target_compile_options(dlc_pch PRIVATE -fno-exceptions)
target_precompile_headers(dlc_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/OpImplementation.h> <mlir/Pass/Pass.h> <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Arith/IR/Arith.h>)

function(dlc_compiler_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC dlc_mlir_options)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_precompile_headers(${name} REUSE_FROM dlc_pch)
endfunction()

function(dlc_compiler_tool name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE dlc_mlir_options)
endfunction()

# dlc_unit_test(NAME SOURCES a.cpp ... LIBRARIES X ...): a GoogleTest program; each of its tests is a ctest test.
function(dlc_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} dlc_options GTest::gtest GTest::gtest_main)
  if(ARG_LIBRARIES MATCHES "DLC(Dialects|Passes|Codegen|Frontend)|DLCTestInterpreter")
    target_link_libraries(${name} PRIVATE dlc_mlir_options)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fno-exceptions -fPIC)  # as the precompiled headers were
    target_precompile_headers(${name} REUSE_FROM dlc_pch)
  endif()
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()

# dlc_test_tool(NAME): a program that lit tests run; built by the target dlc-tests.
function(dlc_test_tool name)
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
endfunction()
