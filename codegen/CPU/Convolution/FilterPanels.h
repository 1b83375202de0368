//===- FilterPanels.h - the filter of a direct convolution as panels ----------------*- C++ -*-===//
//
// Panels are [phase][group][panel][source channel][tap][vectors * lanes], or where rows of taps are
// left out [phase][group][panel][block][row of taps][channel][column][...]. A phase of the kernel
// packs all of them into the workspace, or tasks pack those that they multiply into their scratch.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_CONVOLUTION_FILTERPANELS_H
#define DLC_CODEGEN_CPU_CONVOLUTION_FILTERPANELS_H

#include "codegen/CPU/Convolution/DataPlan.h"
#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

class FilterPanels : public PackedPhase {
public:
  FilterPanels(const KernelSpec &spec, const CpuTarget &target, mlir::ModuleOp module,
               llvm::StringRef name, unsigned workspaces, const DataPlan &plan)
      : PackedPhase(spec, target, module, name, workspaces), plan(plan), geometry(plan.geometry),
        schedule(plan.schedule) {}

  /// The phase of its own: packs a task's piece into the workspace.
  void pack();

protected:
  using enum DataPlan::Field;

  /// Where panels stand: in the workspace, or those of a row phase in the scratch of a task.
  struct Panels {
    mlir::Value scratch;        ///< none: the workspace
    mlir::Value phase, channel; ///< the first ones that stand there
  };
  /// Places of source channels of a panel.
  struct Piece {
    mlir::Value group, panel, first, last;
  };

  mlir::Value field(mlir::Value phase, DataPlan::Field which);
  /// To be called before what follows: makes the filter's elements known.
  void readFilter();
  /// All phases, or those of a task.
  void packPiece(const Piece &piece, const Panels &panels);
  /// Where the taps of a phase of a channel lie, or of a block of channels if it is its first one.
  mlir::Value packedAt(const Panels &panels, mlir::Value phase, mlir::Value group,
                       mlir::Value panel, mlir::Value channel);
  /// Where a tap of a channel lies, of a row of the phase's.
  mlir::Value packedTapAt(const Panels &panels, mlir::Value phase, const Piece &piece,
                          mlir::Value channel, mlir::Value row, mlir::Value col);
  /// Whether it can be asked for before it is packed.
  bool canPrefetch() const { return bool(tapRows.address); }
  /// Asks for the lines of a panel of a block of source channels: part `number` of `parts`.
  void prefetch(const Piece &piece, mlir::Value number, int64_t parts);

  const DataPlan &plan;
  const DataGeometry &geometry;
  const DataSchedule &schedule;

private:
  void forEachPhase(const Panels &panels, llvm::function_ref<void(mlir::Value phase)> body);
  /// Calls `body` with the number of each tap of a phase of a channel, and with its place.
  void forEachTap(const Panels &panels, mlir::Value phase, const Piece &piece, mlir::Value channel,
                  llvm::function_ref<void(mlir::Value tap, mlir::Value place)> body);
  /// Asks for the lines of stored elements that follow each other.
  void prefetchRun(mlir::Value start, int64_t elements, unsigned locality = 3);
  void packForward(const Piece &piece, const Panels &panels);
  void packForwardTaps(const Piece &piece, const Panels &panels);
  mlir::Value placeOf(mlir::Value from, int64_t apart);
  void packBackward(const Piece &piece, const Panels &panels);
  void packElements(const Piece &piece, const Panels &panels);
  void packTap(mlir::Value phase, const Piece &piece, mlir::Value channel, mlir::Value tap,
               mlir::Value target);

  Source filter, tapRows; ///< single taps, and rows of them
};

} // namespace dlc::codegen

#endif
