//===- PackEmitter.h - full vectors in scratch memory --------------------------------*- C++
//-*-===//
//
// What packed kernels add to CodeEmitter: full vectors of computed elements at aligned places of
// the scratch, transposition of square tiles, and the kernel's operands and results as sources and
// sinks of vectors, which widen and round what is stored in fewer bits.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_GEMM_PACKEMITTER_H
#define DLC_CODEGEN_CPU_GEMM_PACKEMITTER_H

#include "codegen/CPU/Element.h"
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "llvm/Support/MathExtras.h"

namespace dlc::codegen {

/// Whether a table of the kernel can hold the numbers: its entries have 32 bits.
inline bool fitsTable(llvm::ArrayRef<int64_t> values) {
  return llvm::all_of(values, llvm::isInt<32>);
}

class PackEmitter : public CodeEmitter {
public:
  PackEmitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
              const CpuTarget &target, Element element)
      : CodeEmitter(builder, loc), module(module), target(target), element(element),
        lanes(element.lanes(target)) {}

  mlir::ModuleOp module;
  const CpuTarget &target;
  const Element element;
  const int64_t lanes; ///< of computed elements

  mlir::Type floatType() { return element.computed; }
  mlir::VectorType vectorType() { return mlir::VectorType::get({lanes}, floatType()); }

  using CodeEmitter::at;
  /// `offset` computed elements behind `base`.
  mlir::Value at(mlir::Value base, mlir::Value offset) { return at(base, offset, floatType()); }
  mlir::Value at(mlir::Value base, int64_t offset) { return at(base, constant(offset)); }
  /// `offset` stored elements behind `base`.
  mlir::Value atStored(mlir::Value base, mlir::Value offset) {
    return at(base, offset, element.stored);
  }

  /// A full vector at a place aligned to vectors.
  mlir::Value loadAligned(mlir::Value pointer);
  void storeAligned(mlir::Value vector, mlir::Value pointer);
  /// Whether vectors can go to memory past the caches, which then read no line that is written:
  /// where `bytes` are more than the last cache holds, and a vector is a line.
  bool streams(int64_t bytes) const;
  /// storeAligned on that way; endStreams() comes before another thread reads it.
  void storeStreamed(mlir::Value vector, mlir::Value pointer);
  void endStreams();
  /// A full vector anywhere.
  void storeUnaligned(mlir::Value vector, mlir::Value pointer);
  mlir::Value zeroVector() { return number(0, vectorType()); }
  /// A full vector of what is stored from `pointer` on, computed; lanes off `mask` are zero.
  mlir::Value loadStored(mlir::Value pointer, mlir::Value mask = {}) {
    return convertFloat(loadVector(pointer, constant(0), element.stored, lanes, /*step=*/1, mask),
                        element.computed);
  }
  /// The same as packed: `pointer` has `count` numbers along the sum, what is behind them is zero.
  mlir::Value loadPlaces(mlir::Value pointer, mlir::Value count);
  /// Places of which each has a number of either: of computed elements that are exact in bf16.
  mlir::Value pairUp(mlir::Value even, mlir::Value odd);
  /// Places of pairs as they follow each other in two vectors of stored elements.
  mlir::Value joinPairs(mlir::Value low, mlir::Value high);
  /// Brings a cache line into L1, or with locality 2 into L2.
  void prefetch(mlir::Value pointer, bool forWriting, unsigned locality = 3);
  /// Entry `index` of a table of 32-bit integers.
  mlir::Value entry(mlir::Value table, mlir::Value index);
  /// The address of the module's constant table `name` of values that fit one; made on first use.
  mlir::Value table(llvm::StringRef name, llvm::ArrayRef<int64_t> values);

  /// first + term(1) + ... + term(count - 1), added in this order.
  mlir::Value sum(mlir::Value first, int64_t count,
                  llvm::function_ref<mlir::Value(mlir::Value)> term);

  /// Lanes i < bound, lanes i >= bound, and lanes of both masks; null stands for all.
  mlir::Value lanesBelow(mlir::Value bound) { return firstLanes(bound, lanes); }
  mlir::Value lanesFrom(mlir::Value bound);
  mlir::Value intersect(mlir::Value a, mlir::Value c);

  /// Calls `body` with the mask of the first `count` lanes, unless there are none. AVX2's masked
  /// stores take a dozen cycles even of all lanes, and NEON has none: there, whole vectors take a
  /// branch of their own.
  void forLanes(mlir::Value count, llvm::function_ref<void(mlir::Value mask)> body);
  /// The same of lanes [first, end), which may begin before the vector and end behind it.
  void forLanes(mlir::Value first, mlir::Value end,
                llvm::function_ref<void(mlir::Value mask)> body);

  /// What `read` gives of the first `count` lanes, whose mask is `mask`. AVX2 has no masked loads
  /// of 16 bits, NEON none at all: there, whole vectors take a branch of their own.
  mlir::Value readLanes(mlir::Value count, mlir::Value mask,
                        llvm::function_ref<mlir::Value(mlir::Value mask)> read);

  /// The lower or upper halves of two vectors, their lanes in turn.
  mlir::Value alternate(mlir::Value even, mlir::Value odd, bool upper);
  /// Transposes a lanes x lanes tile, through a function of the module; strides in elements between
  /// rows.
  void transpose(mlir::Value source, mlir::Value sourceStride, mlir::Value target,
                 mlir::Value targetStride);
  /// The same of a source of stored elements.
  void transposeStored(mlir::Value source, mlir::Value sourceStride, mlir::Value target,
                       mlir::Value targetStride);
  /// The same of one whose pairs are places.
  void transposePairs(mlir::Value source, mlir::Value sourceStride, mlir::Value target,
                      mlir::Value targetStride);
  /// Zeroes rows [first, lanes) of a packed tile: what is computed from them is never written, but
  /// stray denormal numbers would make it slow.
  void clearRows(mlir::Value tile, mlir::Value first);

  /// Calls a function of the module by its name, which is not exported; the first call makes it,
  /// for arguments of these types.
  void callFunction(llvm::StringRef name, mlir::ValueRange arguments,
                    llvm::function_ref<void(PackEmitter &e, mlir::ValueRange arguments)> emit);
};

/// float32 elements of a cache line.
constexpr int64_t lineElements = 16;

/// A vector's worth of points of an index space: lane i stands at `indices` plus i * step along
/// `axis`.
struct Place {
  llvm::SmallVector<mlir::Value> indices;
  unsigned axis = 0;
  int64_t step = 1;
  mlir::Value mask; ///< lanes that exist, or null: all. Others are read as zero and not written
};

/// An operand of the anchor as its loops index it, whatever is fused before it.
struct Source {
  /// Computed elements, and stored ones.
  std::function<mlir::Value(const Place &)> read, readStored;
  /// Distance in stored elements along each index, and the address of one; empty unless the operand
  /// lies in memory as it is, in a layout that the indices number regularly.
  llvm::SmallVector<int64_t> strides;
  std::function<mlir::Value(mlir::ValueRange)> address;
  /// Fetches the lines that a read of one vector at these indices will read.
  std::function<void(mlir::ValueRange)> prefetch;
};

/// The operand of the kernel that `value` is, in whatever layout; null if it is computed.
mlir::BlockArgument operandAsStored(mlir::Value value);

/// Where finished values of the anchor go, which are rounded first, through whatever is fused
/// behind it.
struct Sink {
  std::function<void(mlir::Value, const Place &)> write;
  /// What the reductions behind the anchor combine of it, a vector each.
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value, const Place &)> reduced;
  /// Fetches the lines that a write of one vector at these indices will read or write.
  std::function<void(mlir::ValueRange)> prefetch;
  /// The address of the element at these indices, stored; empty unless storedStrides has distances.
  std::function<mlir::Value(mlir::ValueRange)> address;
};

/// Operands that are read at the place of the result that is computed behind the anchor, and lie as
/// a row-major tensor of computed elements of that shape does.
llvm::SmallVector<mlir::BlockArgument>
rowsReadBehindAnchor(const KernelSpec &spec, const Element &element, llvm::ArrayRef<int64_t> shape);

/// One phase of a packed kernel: its function, and an emitter that stands in it.
class PackedPhase {
public:
  PackedPhase(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
              llvm::StringRef name, unsigned workspaces)
      : kernel(spec, target, module, name, workspaces),
        e(kernel.builder, kernel.e.loc, module, target, Element::of(spec)) {}

  /// How loop indices stand for a tensor's: index i is axis order[i] of the index space `shape`.
  struct IndexMap {
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<unsigned> order;
    bool wraps = false; ///< index 0 is taken modulo the extent of its axis

    static IndexMap identity(llvm::ArrayRef<int64_t> shape);
  };
  /// Operand `number` of the anchor.
  Source source(unsigned number, const IndexMap &map);
  /// The results behind the anchor.
  Sink sink(const IndexMap &map);
  /// Distance in stored elements along each index, where all that is behind the anchor is one
  /// result that holds its values as they are, in a layout that the indices number regularly.
  static std::optional<llvm::SmallVector<int64_t>> storedStrides(const KernelSpec &spec,
                                                                 const IndexMap &map);

  /// Packs `steps` rows of one vector each, `pitch` apart: the elements of `source` from `corner`
  /// on, `left` of them along index `along` of three, across the lanes, and the other of 1 and 2,
  /// which is the sum's, down the rows. Unless the lanes are neighbours in memory, tiles are
  /// transposed on the way. Lanes behind `left` are zero; nothing but the rows is written.
  void pack(const Source &source, const PackedSum &sum, llvm::ArrayRef<mlir::Value> corner,
            unsigned along, bool lanesContiguous, mlir::Value left, mlir::Value steps,
            int64_t pitch, mlir::Value target);
  /// A vector of places along the sum, which is index `across`, from `indices` on; the first `left`
  /// of them, behind which lanes are anything or zero.
  mlir::Value readSteps(const Source &source, const PackedSum &sum,
                        llvm::ArrayRef<mlir::Value> indices, unsigned across, mlir::Value left);
  mlir::Value tileBuffer; ///< lanes x lanes elements of scratch, for `pack`

  /// Ends the function; fails if some value could not be had.
  mlir::LogicalResult finish();

  KernelFunction kernel;
  PackEmitter e;

private:
  mlir::Value readPairs(const Source &source, const PackedSum &sum,
                        llvm::ArrayRef<mlir::Value> indices, unsigned along, mlir::Value left);
  /// The loop indices as the tensor's.
  llvm::SmallVector<mlir::Value> tensorIndices(mlir::ValueRange indices, const IndexMap &map);
  /// Fetch the line of a tensor at these indices, unless it does not lie as the map numbers it; of
  /// operands.
  void prefetchAt(mlir::Value base, mlir::RankedTensorType type, mlir::ValueRange indices,
                  const IndexMap &map, bool forWriting);
  void prefetchRead(llvm::ArrayRef<mlir::BlockArgument> read, mlir::ValueRange indices,
                    const IndexMap &map);
  /// The element at these indices of a tensor of `element` that lies in memory with these
  /// distances.
  mlir::Value addressOf(mlir::Value base, mlir::Type element, mlir::ValueRange indices,
                        const IndexMap &map, llvm::ArrayRef<int64_t> strides);
  Point pointOf(const Place &place, const IndexMap &map);
  llvm::DenseMap<mlir::Value, mlir::Value> computeNumbers();

  bool failed = false;
};

/// Whether all results behind the anchor, and what is reduced there, can be had in vectors along
/// axis `axis` of the index space `space`.
bool isVectorAxis(const KernelSpec &spec, llvm::ArrayRef<int64_t> space, unsigned axis);

/// Adds what all packed kernels do beside their tiles: the way of their tensors through memory, the
/// merging phase of reductions behind the anchor (BandReducer.h), and results that do not need the
/// anchor, which are walked on their own, in phases behind the anchor's. A preparation, given for
/// the anchor's operand of its number and with the seconds of its code, becomes that of the
/// kernel's operand, if that is read there and nowhere else.
void finishCandidate(const KernelSpec &spec, const CpuTarget &target, Candidate &candidate);
/// The phases that finishCandidate has added.
mlir::LogicalResult emitLastPhases(const KernelSpec &spec, const Candidate &candidate,
                                   const CpuTarget &target, llvm::StringRef symbol,
                                   mlir::ModuleOp module);
/// Whether finishCandidate can walk all of them.
bool canWalkPrologueResults(const KernelSpec &spec);

} // namespace dlc::codegen

#endif
