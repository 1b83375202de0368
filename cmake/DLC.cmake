# The two kinds of library in this project.
#   dlc_runtime_library(NAME sources...)   C++ only: may not see an MLIR or LLVM header
#   dlc_compiler_library(NAME sources...)  on top of MLIR/LLVM, without exceptions, shared precompiled headers

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(DLC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# dlc_declarations(OUTPUT flags...): as mlir_tablegen, without the comments that repeat descriptions, so that a change of a
# description rebuilds no user of what is declared.
macro(dlc_declarations output)
  mlir_tablegen(${output}.full ${ARGN})
  add_custom_command(OUTPUT ${output}
    COMMAND sed "/^ *\\/\\/\\//d" ${output}.full > ${output}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${output}.new ${output}
    DEPENDS ${output}.full VERBATIM)
  list(APPEND TABLEGEN_OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output})
endmacro()

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

# Two precompiled headers, each built once: MLIR for the dialects, more of MLIR and the attributes and interfaces of dl for
# everything above them. Ops are in neither: a change of one would rebuild all.
# dlc_precompiled_headers(NAME headers...)
function(dlc_precompiled_headers name)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "// Owns precompiled headers that other targets reuse.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PUBLIC dlc_mlir_options)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_precompile_headers(${name} PRIVATE
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h>
    <mlir/IR/OpImplementation.h> <mlir/IR/DialectImplementation.h> <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Math/IR/Math.h> ${ARGN})
endfunction()
dlc_precompiled_headers(dlc_pch_mlir)
dlc_precompiled_headers(dlc_pch_dialects
  <mlir/Pass/Pass.h> <mlir/Transforms/GreedyPatternRewriteDriver.h> <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/LLVMIR/LLVMDialect.h>
  ${CMAKE_SOURCE_DIR}/dialects/DL/DL.h)
add_dependencies(dlc_pch_dialects DLCDialectsProgramIncGen DLCDialectsDLIncGen DLCDialectsExecIncGen)

function(dlc_reuse_precompiled_headers name)
  if(name MATCHES "^DLCDialects")
    target_precompile_headers(${name} REUSE_FROM dlc_pch_mlir)
  else()
    target_precompile_headers(${name} REUSE_FROM dlc_pch_dialects)
  endif()
endfunction()

function(dlc_compiler_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC dlc_mlir_options)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  dlc_reuse_precompiled_headers(${name})
endfunction()

function(dlc_compiler_tool name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE dlc_mlir_options)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fno-exceptions -fPIC)  # as the precompiled headers were
  dlc_reuse_precompiled_headers(${name})
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
  if(ARG_LIBRARIES MATCHES "DLC(Dialects|Passes|Codegen|Frontend)|DLCTestInterpreter")
    target_link_libraries(${name} PRIVATE dlc_mlir_options)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fno-exceptions -fPIC)  # as the precompiled headers were
    dlc_reuse_precompiled_headers(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()

# dlc_test_tool(NAME): a program that lit tests run; built by the target dlc-tests.
function(dlc_test_tool name)
  set_property(GLOBAL APPEND PROPERTY DLC_TEST_TARGETS ${name})
endfunction()
