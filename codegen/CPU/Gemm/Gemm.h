//===- Gemm.h - packed matrix products ----------------------------------------------*- C++ -*-===//
//
//   c[batch][m][n] = sum over k of a[batch][m][k] * b[batch][k][n]
//
// or, with several terms, c[m][n] = sum over terms and k of a[term][m][k] * b[term][k][n].
//
// Cache blocks of both operands are packed into a task's scratch in the order in which the
// micro-kernel walks them; what is fused before the operands runs while packing, what is fused
// behind on finished accumulators. A product with a long sum and a small result splits it:
// the parts meet in a workspace and are added in ascending order by a second phase.
//
// Weights may be packed whole instead, into the workspace and by a phase in front, which inference
// runs once: the product streams them in the order in which they lie.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_GEMM_GEMM_H
#define DLC_CODEGEN_CPU_GEMM_GEMM_H

#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/Kernel/ScheduleFields.h"

namespace dlc::codegen {

/// Panels of b that are packed at a time: steps [k, k + steps) of panels [first, end), each panel
/// [step][width] and `distance` elements behind the one before; `outer` is b's first index.
struct PanelRange {
  mlir::Value outer, k, steps, first, end, target;
  int64_t width, distance;
};

/// A product as its emitter sees it. Loop indices are (batch, m, k), (batch, k, n) and (batch, m,
/// n); of several terms a and b have batch * terms + term in place of batch.
struct GemmProblem {
  enum class Operand { None, A, B };

  Element element;
  /// What it runs on. Of one that takes groups (MicroKernel.h) a packed tile of a is the groups of
  /// its steps, each of which holds the rows one behind the other.
  const MicroKernel *kernel = &fmaKernel();
  int64_t batch = 1, m = 1, n = 1, k = 1, terms = 1;
  /// Whether a's neighbours in memory lie along m, b's along n.
  bool rowsContiguousA = false, columnsContiguousB = true;
  /// Numbers of a and b among the anchor's operands.
  unsigned a = 0, b = 1;
  /// Simple operations that compute an element of a and of b, if it is not stored.
  double weightA = 0, weightB = 0;
  /// What is likely to stay as it is from call to call.
  Operand weights = Operand::None;
  /// Whether a task finishes its result row by row, when all of it is there, and not tile by tile:
  /// what is fused behind then goes through other tensors of the result's size in long runs.
  bool finishesRows = false;
  PackedPhase::IndexMap mapA, mapB, mapC;

  /// What is set stands in place of a tensor by its index map; of mapA and mapB that says only how
  /// many matrices there are, of mapC nothing.
  std::function<Source(PackedPhase &)> sourceA, sourceB;
  /// Packs b, in so many cycles an element.
  std::function<void(PackedPhase &, const PanelRange &)> packB;
  double cyclesB = 0;
  /// A task makes the whole matrix of a batch in its scratch, rows pitchC elements apart, and
  /// `finish` makes results of it.
  std::function<void(PackedPhase &, mlir::Value batch, mlir::Value matrix, int64_t pitch)> finish;

  /// Steps of a term and of the whole sum, and in how many blocks of `depth` it is made; none holds
  /// two terms.
  int64_t steps() const { return kernel->steps(k); }
  int64_t sumLength() const { return terms * steps(); }
  int64_t blocks(int64_t depth) const { return terms * ceilDiv(steps(), depth); }
};

/// Behind the other words of a schedule.
inline llvm::StringRef wordsOfPacked(GemmProblem::Operand packed) {
  using enum GemmProblem::Operand;
  return packed == None ? "" : packed == A ? " packed a" : " packed b";
}

struct GemmSchedule {
  int64_t rows = 1, vectors = 1; ///< register tile
  int64_t depth = 1;             ///< steps of one reduction block, a multiple of the vector length
  int64_t blockTiles = 1;        ///< tiles along m that are packed at a time
  int64_t blockPanels = 1;       ///< panels along n that are packed at a time
  int64_t tiles = 1, panels = 1; ///< of one task: tiles along m, panels along n
  int64_t splits = 1;            ///< parts of the sum
  GemmProblem::Operand packed = GemmProblem::Operand::None; ///< whole, by a phase in front
  const MicroKernel *kernel = &fmaKernel();

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("gemm ", s.rows);
    f("x", s.vectors);
    f(" depth ", s.depth);
    f(" block ", s.blockTiles);
    f("x", s.blockPanels);
    f(" task ", s.tiles);
    f("x", s.panels);
    f(" splits ", s.splits);
    f(wordsOfPacked, s.packed);
    f(s.kernel);
  }
};

/// A few schedules for each micro-kernel, by different register tiles, the fastest first. Their
/// cost is that of the product and of packing its operands.
llvm::SmallVector<Candidate> gemmCandidates(GemmProblem problem, const CpuTarget &target);
mlir::LogicalResult emitGemm(const KernelSpec &spec, const Candidate &candidate,
                             const CpuTarget &target, llvm::StringRef symbol, mlir::ModuleOp module,
                             GemmProblem problem);

/// Sizes that follow from problem and schedule, in places of the micro-kernel (MicroKernel.h).
struct GemmLayout {
  int64_t lanes, width, tiles, panels;
  int64_t pitchA; ///< of the steps of a packed tile
  int64_t tileElements, panelElements, slotElements, partElements;
  bool inWorkspace; ///< parts of the sum meet in the workspace
  /// A tile's rows are finished when all panels of a task have met it, in the one block of the sum.
  bool finishesTiles;
  bool keepsAll; ///< accumulators of all tiles outlive a reduction block
  /// Of a matrix that a task makes as a whole: its rows' distance, and its elements; else 0.
  int64_t pitchC, matrixElements;
  /// What a task packs at a time into its scratch; nothing of an operand that is packed whole.
  int64_t blockElementsA, blockElementsB;
  /// Of the operand that is packed whole: matrices, tiles or panels of each of their blocks, the
  /// elements of one, how many of them a task packs, and all elements.
  int64_t wholeMatrices = 0, wholePieces = 0, pieceElements = 0, packedPieces = 1;
  int64_t wholeElements = 0;

  GemmLayout(const GemmProblem &problem, const GemmSchedule &schedule, int64_t lanes);
};

} // namespace dlc::codegen

#endif
