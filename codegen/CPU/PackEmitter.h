// Shorthand for the code that packed kernels are made of: address arithmetic, loops, masked vector accesses through
// strides, and square transposes. Everything is emitted as scf + arith + vector + LLVM-pointer operations, which need only
// one-to-one lowerings; static trip counts of one leave no loop behind.
#pragma once

#include "codegen/CPU/CostModel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <optional>
#include <string>

namespace dlc::codegen {

/// A float32 tensor argument of a kernel, addressed by the iteration space of the code that reads or writes it.
struct StridedTensor {
  /// Number of the buffer in dlc_args.
  unsigned argument = 0;
  /// Elements between neighbours along each index of the iteration space; 0 broadcasts.
  llvm::SmallVector<int64_t> strides;
};

/// A vector's worth of points of an iteration space: lane i stands at `indices` plus i * step along `axis`.
struct Place {
  llvm::SmallVector<mlir::Value> indices;
  unsigned axis = 0;
  int64_t step = 1;
  /// Lanes that exist; null: all. Others are read as zero and not written.
  mlir::Value mask;
};

class PackEmitter;

/// What a kernel reads: a tensor, or a body over several printed at each read.
struct Source {
  std::function<mlir::Value(PackEmitter &, const Place &)> read;
  /// Set if reading is nothing but loading this tensor: allows shorter ways.
  std::optional<StridedTensor> plain;

  static Source of(const StridedTensor &tensor);
};

/// Where a kernel's values go: into a tensor, or through a body into one or several.
struct Sink {
  std::function<void(PackEmitter &, mlir::Value, const Place &)> write;

  static Sink of(const StridedTensor &tensor);
};

class PackEmitter {
public:
  PackEmitter(mlir::OpBuilder &builder, mlir::Location loc, const MachineModel &machine)
      : b(builder), loc(loc), machine(machine), lanes(machine.lanes) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MachineModel &machine;
  const int64_t lanes;

  mlir::Type floatType() { return b.getF32Type(); }
  mlir::Type pointerType() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::VectorType vectorType() { return mlir::VectorType::get({lanes}, floatType()); }

  // 64-bit integers, folded while they are built.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value c);
  mlir::Value add(mlir::Value a, int64_t c) { return add(a, constant(c)); }
  mlir::Value sub(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, int64_t c);
  mlir::Value mul(mlir::Value a, mlir::Value c);
  mlir::Value div(mlir::Value a, int64_t c);
  mlir::Value rem(mlir::Value a, int64_t c);
  mlir::Value minimum(mlir::Value a, mlir::Value c);
  mlir::Value maximum(mlir::Value a, mlir::Value c);
  mlir::Value less(mlir::Value a, mlir::Value c);
  mlir::Value both(mlir::Value a, mlir::Value c);
  mlir::Value equal(mlir::Value a, mlir::Value c);

  /// for (i = lower; i < upper; i += step)
  void loop(mlir::Value lower, mlir::Value upper, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void loop(int64_t count, llvm::function_ref<void(mlir::Value)> body) {
    loop(constant(0), constant(count), 1, body);
  }
  /// first + term(1) + ... + term(count - 1), added in this order.
  mlir::Value sum(mlir::Value first, int64_t count,
                  llvm::function_ref<mlir::Value(mlir::Value)> term);
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  // Memory. Offsets count elements of float32.
  mlir::Value at(mlir::Value base, mlir::Value offset);
  mlir::Value at(mlir::Value base, int64_t offset) { return at(base, constant(offset)); }
  mlir::Value loadScalar(mlir::Value pointer);
  mlir::Value loadInteger(mlir::Value pointer, mlir::Value index);
  mlir::Value load(mlir::Value pointer, bool aligned = false);
  void store(mlir::Value vector, mlir::Value pointer, bool aligned = false);
  void maskedStore(mlir::Value vector, mlir::Value pointer, mlir::Value mask);
  void prefetch(mlir::Value pointer, bool forWriting);
  mlir::Value zeroVector();
  mlir::Value splat(mlir::Value scalar);

  /// Lanes i with i < bound; null when that is known to be all of them.
  mlir::Value lanesBelow(mlir::Value bound);
  /// Lanes i with i >= bound.
  mlir::Value lanesFrom(mlir::Value bound);
  /// Both masks; null stands for all lanes.
  mlir::Value intersect(mlir::Value a, mlir::Value c);

  /// The pointer of a buffer in dlc_args.
  mlir::Value buffer(unsigned argument);
  /// Sets the kernel's first argument; buffers are loaded once, where the builder stands now.
  void bindArguments(mlir::Value args, unsigned count);

  /// Address of element `indices` of a tensor.
  mlir::Value address(const StridedTensor &tensor, mlir::ValueRange indices);
  mlir::Value read(const StridedTensor &tensor, const Place &place);
  void write(mlir::Value vector, const StridedTensor &tensor, const Place &place);

  /// Calls the module's function that transposes a lanes x lanes tile; strides in elements between rows.
  void transpose(mlir::Value source, mlir::Value sourceStride, mlir::Value target,
                 mlir::Value targetStride);

  /// Zeroes rows [first, lanes) of a packed tile: what is computed from them is never written, but stray denormal numbers
  /// would make it slow.
  void clearRows(mlir::Value tile, mlir::Value first);

private:
  mlir::Value elementPointers(mlir::Value base, int64_t stride);
  mlir::LLVM::LLVMFuncOp transposeFunction();

  llvm::SmallVector<mlir::Value> buffers;
};

/// One launch: a function of the module, run once for each task of its grid, after all tasks of the phase before.
struct EmittedPhase {
  std::string symbol;
  int64_t tasks = 0, scratchBytes = 0;
};
struct EmittedKernel {
  llvm::SmallVector<EmittedPhase> phases;
  int64_t workspaceBytes = 0;
};

/// What a kernel function was called with.
struct KernelArguments {
  mlir::Value task, scratch;
};
/// Starts a function of type dlc_kernel_fn that reads `buffers` buffers; the emitter is left in its body.
KernelArguments beginKernel(PackEmitter &emitter, mlir::ModuleOp module, llvm::StringRef symbol,
                            unsigned buffers);

/// A function in `module` whose body may use full-width vectors; the builder is left at its start.
mlir::LLVM::LLVMFuncOp createFunction(mlir::OpBuilder &builder, mlir::ModuleOp module,
                                      mlir::Location loc, llvm::StringRef name,
                                      llvm::ArrayRef<mlir::Type> arguments, int64_t lanes,
                                      bool exported);

} // namespace dlc::codegen
