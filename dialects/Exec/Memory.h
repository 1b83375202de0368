//===- Memory.h - which bytes a buffer of a program stands for ----------------------*- C++ -*-===//
//
// Passes compare buffers by extents: a region of memory, and a range of bytes in it. Before
// planning each exec.alloc is a region of its own; after it, allocs are ranges of one arena.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_EXEC_MEMORY_H
#define DLC_DIALECTS_EXEC_MEMORY_H

#include "dialects/Exec/Exec.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc::exec {

/// The numbers are those of dlc_space.
enum class Space { Arena = 1, State = 2, Input = 3, Constant = 4, Scalars = 5 };

/// Bytes [offset, offset + bytes) of a region. The region is a space, and in it an exec.alloc or
/// exec.constant (`root`) or the number of an input.
struct Extent {
  Space space = Space::Arena;
  mlir::Operation *root =
      nullptr;        ///< Arena: the exec.alloc; Constant: the exec.constant; else null
  int64_t number = 0; ///< Input: its number
  int64_t offset = 0, bytes = 0;

  /// What tells its region from others.
  std::tuple<Space, mlir::Operation *, int64_t> getRegion() const { return {space, root, number}; }
  int64_t end() const { return offset + bytes; }
  /// True if a byte belongs to both. Empty extents overlap nothing.
  bool overlaps(const Extent &other) const {
    return getRegion() == other.getRegion() && offset < other.end() && other.offset < end() &&
           bytes > 0 && other.bytes > 0;
  }
};

/// What `buffer` stands for, through views.
Extent getExtent(mlir::Value buffer);

/// The same after planning: allocs as ranges of the arena. All allocs must have their offset.
Extent getPlacedExtent(mlir::Value buffer);

int64_t getBytes(mlir::Value buffer);

/// `bytes` rounded up to a multiple of `alignment`.
inline int64_t alignUp(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// On an alloc for several tensors: each begins at a multiple of so many bytes, where that is more
/// than `alignment`.
inline constexpr llvm::StringLiteral stepName = "exec.step";

/// The multiple at which tensors begin in the extent's memory: whoever writes one owns the bytes up
/// to the next.
inline int64_t getStep(const Extent &extent) {
  auto step =
      extent.root ? extent.root->getAttrOfType<mlir::IntegerAttr>(stepName) : mlir::IntegerAttr();
  return step ? step.getInt() : alignment;
}

/// On a module: the bytes of its state, of which flat buffers may have some behind their last
/// variable.
inline constexpr llvm::StringLiteral stateBytesName = "exec.state_bytes";
/// Those, or where the module does not say so, up to the end of the last variable.
int64_t getStateBytes(mlir::ModuleOp module);

/// On a launch that is to run no sooner than what stands before it, although nothing forbids it:
/// what it computes again would lie in memory for longer.
inline constexpr llvm::StringLiteral keepsPlaceName = "exec.keeps_place";

/// The variables of a module that records of `program` touch.
llvm::DenseSet<mlir::Operation *> findUsedVariables(ProgramOp program, mlir::ModuleOp module);

/// The layer and stage that a location names, "" if it names none. Of a fused location, the first
/// part that has a name.
llvm::StringRef getRecordName(mlir::Location loc);

} // namespace dlc::exec

#endif
