# The libraries of the compiler.
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

add_library(dlc_mlir_options INTERFACE)
target_link_libraries(dlc_mlir_options INTERFACE dlc_options MLIR LLVM)
target_include_directories(dlc_mlir_options INTERFACE ${CMAKE_BINARY_DIR})
target_include_directories(dlc_mlir_options SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(dlc_mlir_options INTERFACE ${DLC_LLVM_DEFINITIONS})

# Two sets of precompiled headers, beside those of tests: MLIR with the attributes and interfaces of dl, and for code generation what almost
# every file of it reads as well. The ops of dl are in neither: a change of one would rebuild all. A file that forgets to include what is
# in them is found by a build with CMAKE_DISABLE_PRECOMPILE_HEADERS.
set(dlc_compiler_headers <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/OpImplementation.h> <mlir/IR/DialectImplementation.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Math/IR/Math.h>
  <mlir/Pass/Pass.h> <mlir/Transforms/GreedyPatternRewriteDriver.h> <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h> <llvm/Support/FormatVariadic.h> ${CMAKE_SOURCE_DIR}/dialects/DL/DL.h)
set(dlc_codegen_headers ${dlc_compiler_headers} ${CMAKE_SOURCE_DIR}/codegen/Kernel/KernelGenerator.h
  ${CMAKE_SOURCE_DIR}/codegen/Compile/Target.h)
# dlc_compiler_precompiled_headers(NAME LIBRARIES X... HEADERS <a.h>...)
function(dlc_compiler_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS" ${ARGN})
  dlc_precompiled_headers(${name} OPTIONS -fno-exceptions LIBRARIES dlc_mlir_options ${ARG_LIBRARIES} HEADERS ${ARG_HEADERS})
  add_dependencies(${name} DLCDialectsProgramIncGen DLCDialectsDLIncGen DLCDialectsExecIncGen DLCPassesDLIncGen DLCPassesExecIncGen)
endfunction()
dlc_compiler_precompiled_headers(dlc_pch_compiler HEADERS ${dlc_compiler_headers})
dlc_compiler_precompiled_headers(dlc_pch_codegen HEADERS ${dlc_codegen_headers})

function(dlc_reuse_precompiled_headers name)
  if(name MATCHES "^DLC(Dialects|Frontend|Passes|TestInterpreter)")
    target_precompile_headers(${name} REUSE_FROM dlc_pch_compiler)
  else()
    target_precompile_headers(${name} REUSE_FROM dlc_pch_codegen)
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
