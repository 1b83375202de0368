//===- Routines.h - functions that many kernels share -------------------------------*- C++ -*-===//
//
// The inner loops of products and the transpositions in front of them are functions of their own,
// and kernels of many sizes have them in equal words. Each is compiled once, to an object that the
// module holds once.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_ROUTINES_H
#define DLC_CODEGEN_KERNEL_ROUTINES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace dlc::codegen {

/// What the names of routines begin with; their text's hash follows, so that equal names are equal
/// code wherever kernels of one target meet.
inline constexpr llvm::StringLiteral routinePrefix = "dlc_routine_";

/// Routines of the kernels that are compiled together. For several threads at once.
class Routines {
public:
  using Compile = llvm::function_ref<llvm::Expected<std::string>(mlir::ModuleOp)>;

  /// Takes those functions out of `module` that are not exported and need nothing else of it; what
  /// is left calls them by their new names. Returns their objects, which `compile` makes of a
  /// module for each that no kernel had before.
  llvm::Expected<std::vector<std::string>> takeOut(mlir::ModuleOp module, Compile compile);

private:
  struct Routine {
    std::once_flag compiled;
    std::string object, error;
  };
  Routine &get(const std::string &name);

  std::mutex mutex;
  std::map<std::string, Routine> known; ///< by name
};

} // namespace dlc::codegen

#endif
