//===- Routines.h - functions that many kernels share -------------------------------*- C++ -*-===//
//
// The inner loops of products, the transpositions in front of them and the transforms of tiles are
// functions of their own, and kernels of many sizes have them in equal words. Each is compiled
// once, to an object that the module holds once.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_LOWERING_ROUTINES_H
#define DLC_CODEGEN_CPU_LOWERING_ROUTINES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace dlc::codegen {

/// What the names of routines begin with; their text's hash follows, so that equal names are equal
/// code wherever kernels of one target meet.
inline constexpr llvm::StringLiteral routinePrefix = "dlc_routine_";

/// The names of routines. Keeps those of one context: what has come before is known again without
/// its text, which takes longer to print than the function took to emit.
class RoutineNames {
public:
  /// What the text of `function` gives it. Leaves it without a name of its own.
  mlir::StringAttr take(mlir::LLVM::LLVMFuncOp function);

private:
  struct Known {
    mlir::OwningOpRef<mlir::LLVM::LLVMFuncOp> function;
    mlir::StringAttr name;
  };
  std::multimap<size_t, Known> all; ///< by a hash of their ops
};

/// Routines of the kernels that are compiled together. For several threads at once.
class Routines {
public:
  using Compile = llvm::function_ref<llvm::Expected<std::string>(mlir::ModuleOp)>;

  /// Takes those functions out of `module` that are not exported and need nothing else of it but
  /// each other; what is left calls them by their new names, which are returned. Those that no
  /// kernel had before `compile` makes an object of, from a module for each.
  std::vector<std::string> takeOut(mlir::ModuleOp module, RoutineNames &names, Compile compile);
  /// The objects of routines taken out. Waits for those that another thread still compiles: a
  /// kernel asks when its own code is done.
  llvm::Expected<std::vector<std::string>> objects(llvm::ArrayRef<std::string> routines);

private:
  struct Routine {
    bool compiled = false;
    std::string object, error;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Routine> known; ///< by name, from when the first kernel takes them out
};

} // namespace dlc::codegen

#endif
