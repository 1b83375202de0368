//===- Attention.h - attention by blocks of scores ----------------------------------*- C++ -*-===//
//
//   s = scale * q k^T + mask    p = exp(s - lse)    o = p v        q [T, D], k [S, D], v [S, E]
//
// for each head of each sample (Dao, FlashAttention-2, 2023). A task walks blocks of keys against
// tiles of queries, and keeps of the scores one tile (forward) or one block (backward): forward
// with each row's largest score and sum so far, by which what was accumulated before is scaled;
// backward from the stored lse. Both operands are packed as the micro-kernel of products walks
// them: queries in rows, keys in panels of columns. Causal blocks that no query sees are skipped.
//
// Sums over keys and queries run in ascending order within a task, so that the bits do not depend
// on the number of threads. Backward, a task is a head; where there are few, keys and queries are
// split among tasks of two phases, which compute the scores twice.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_ATTENTION_ATTENTION_H
#define DLC_CODEGEN_CPU_ATTENTION_ATTENTION_H

#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/Kernel/ScheduleFields.h"
#include "dialects/DL/Facts/AttentionForm.h"

namespace dlc::codegen {

struct AttentionSchedule {
  int64_t rows = 1, vectors = 1; ///< register tile
  int64_t queryBlock = 1;        ///< queries at a time, a multiple of rows
  int64_t keyBlock = 1;          ///< keys at a time, a multiple of the tile's columns
  bool split = false;            ///< backward: two phases of more tasks

  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("attention ", s.rows);
    f("x", s.vectors);
    f(" block ", s.queryBlock);
    f("x", s.keyBlock);
    f(" split", s.split);
  }
};

/// Sizes that follow from form and schedule, in elements.
struct AttentionPlan {
  dl::AttentionForm form;
  AttentionSchedule schedule;
  int64_t lanes;

  AttentionPlan(mlir::Operation *op, const AttentionSchedule &schedule, int64_t lanes)
      : form(dl::AttentionForm::get(op)), schedule(schedule), lanes(lanes) {}

  int64_t columns() const { return schedule.vectors * lanes; }
  int64_t keyPanels() const { return schedule.keyBlock / columns(); }
  int64_t depthPanels() const { return ceilDiv(form.depth, columns()); }
  int64_t widthPanels() const { return ceilDiv(form.width, columns()); }
  /// Of a block.
  int64_t queryTiles() const { return schedule.queryBlock / schedule.rows; }
  int64_t keyTiles() const { return ceilDiv(schedule.keyBlock, schedule.rows); }
  int64_t queryBlocks() const { return ceilDiv(form.queries, schedule.queryBlock); }
  int64_t keyBlocks() const { return ceilDiv(form.keys, schedule.keyBlock); }
  int64_t tileElements() const { return schedule.rows * columns(); }
  /// Between rows of q, and of the gradient of o, as they are packed.
  int64_t pitch() const { return roundUp(std::max(form.depth, form.width), lanes); }
};

/// Hands out a task's scratch.
struct ScratchRooms {
  int64_t elements = 0;
  int64_t take(int64_t count) {
    int64_t begin = elements;
    elements += roundUp(count, lineElements);
    return begin;
  }
};

/// Bytes of scratch of a task.
uint64_t attentionScratch(const AttentionPlan &plan);
uint64_t attentionBackwardScratch(const AttentionPlan &plan);

mlir::LogicalResult emitAttention(const KernelSpec &spec, const CpuTarget &target,
                                  llvm::StringRef symbol, mlir::ModuleOp module,
                                  const AttentionPlan &plan);
/// `phases` are those of the candidate.
mlir::LogicalResult emitAttentionBackward(const KernelSpec &spec, const Candidate &candidate,
                                          const CpuTarget &target, llvm::StringRef symbol,
                                          mlir::ModuleOp module, const AttentionPlan &plan);

/// What the phases of both directions share.
class AttentionPhase : public PackedPhase {
public:
  AttentionPhase(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
                 llvm::StringRef name, const AttentionPlan &plan)
      : PackedPhase(spec, target, module, name, /*workspaces=*/0), plan(plan), form(plan.form),
        schedule(plan.schedule) {}

protected:
  using Value = mlir::Value;

  Value room(int64_t begin) { return e.at(kernel.scratch, begin); }
  /// A tensor [heads, rows, columns] among the anchor's operands.
  Source sourceOf(Value tensor, int64_t rows, int64_t columns);

  /// Packs `count` rows from `first` on, `plan.pitch()` apart.
  void packRows(const Source &source, Value head, Value first, Value count, int64_t columns,
                Value target);
  /// Packs them as panels of columns: [panel][row][column], panels `distance` apart.
  void packPanels(const Source &source, Value head, Value first, Value count, int64_t columns,
                  int64_t distance, Value target);
  /// Packs a block of keys turned: [panel of keys][column of source][key].
  void packTurned(const Source &source, Value head, Value first, int64_t columns, Value target);

  /// acc (+)= a tile of rows times a panel; `accumulate` is known.
  void product(mlir::LLVM::LLVMFuncOp micro, Value rows, Value panel, Value steps, Value acc,
               bool accumulate);
  /// Scores of a tile: rows of `rows` times all panels of `turned`, which is `depth` deep.
  void scoresOf(mlir::LLVM::LLVMFuncOp micro, Value rows, Value turned, int64_t depth,
                Value scores);
  void clear(Value room, int64_t elements);

  /// A row of scores: `query` against the keys from `key` on, of which it sees the first `seen`.
  struct Row {
    Value head, query, key, seen;
  };
  Row rowOf(Value head, Value query, Value key);
  /// Calls `body` for each vector of a row, with its first key's number in the block and its place
  /// in a tile of scores of which the row is row `row`.
  using RowBody = llvm::function_ref<llvm::SmallVector<Value>(Value number, Value place,
                                                              mlir::ValueRange carried)>;
  llvm::SmallVector<Value> alongRow(Value row, mlir::ValueRange init, RowBody body);
  /// Finished scores of raw ones; those that are not seen are -infinity.
  Value finishScores(const Row &row, Value number, Value raw);
  /// Dropout of what belongs to the scores.
  Value keep(const Row &row, Value number, Value values);

  /// The kernel's result that is result `number` of the anchor; nothing if nobody wants it.
  std::optional<unsigned> wantedResult(unsigned number);
  /// Stores row `row` of tiles [tile][panel][row][column], which are at `tiles` of the scratch, as
  /// row `place` (head, row) of a result [heads, rows, columns].
  void storeTileRow(unsigned result, int64_t tiles, Value row, llvm::ArrayRef<Value> place,
                    int64_t rows, int64_t columns, llvm::function_ref<Value(Value)> finished);

  Value splat(Value scalar) { return e.splat(scalar, e.lanes); }
  Value element(Value room, Value index) { return e.load(room, index, e.floatType()); }

  const AttentionPlan &plan;
  const dl::AttentionForm &form;
  const AttentionSchedule &schedule;

private:
  Value scoreVector(Value tensor, const Row &row, Value number);
};

/// The micro-kernel of rows that are `pitch` apart, or where `turned` of columns that are.
mlir::LLVM::LLVMFuncOp attentionProduct(mlir::ModuleOp module, const CpuTarget &target,
                                        Element element, const AttentionSchedule &schedule,
                                        int64_t pitch, bool turned, llvm::StringRef name);

} // namespace dlc::codegen

#endif
