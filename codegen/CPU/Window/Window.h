//===- Window.h - the parts of the window generator ---------------------------------*- C++ -*-===//
//
// Every geometry is three spatial axes, missing ones first with extent 1. Bounds are checked only
// on axes where a window can lie outside.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINDOW_WINDOW_H
#define DLC_CODEGEN_CPU_WINDOW_WINDOW_H

#include "codegen/CPU/Element.h"
#include "codegen/CPU/Emitter/Walk.h"

namespace dlc::codegen {

struct WindowPlan {
  Element element;
  std::array<dl::WindowAxis, 3> axes; ///< depth, height, width
  llvm::SmallVector<int64_t> lead;    ///< index space of batch and channels
  bool backward = false;
  /// Backward, and no input element lies in two windows, nor a window outside.
  bool tiles = false;
  /// Over the result; backward but for tiles: over images, its last axis all pixels of one.
  WalkPlan walk;

  /// Null if the window generator does not take the kernel.
  static std::optional<WindowPlan> get(const KernelSpec &spec, const CpuTarget &target);
  uint64_t scratchBytes() const {
    return backward && !tiles ? planeElements() * element.bytes() : 0;
  }

  llvm::SmallVector<int64_t> space(int64_t dl::WindowAxis::*side) const {
    llvm::SmallVector<int64_t> result = lead;
    for (const dl::WindowAxis &axis : axes)
      result.push_back(axis.*side);
    return result;
  }
  int64_t planeElements() const { return axes[0].input * axes[1].input * axes[2].input; }
  llvm::SmallVector<int64_t> kernel() const {
    return llvm::map_to_vector(axes, [](const dl::WindowAxis &axis) { return axis.kernel; });
  }
  int64_t kernelSize() const { return product(kernel()); }
  /// Whether a window can lie outside of the input along this axis.
  bool hasEdge(size_t number) const {
    const dl::WindowAxis &axis = axes[number];
    return axis.low > 0 || (axis.output - 1) * axis.stride + axis.extent() - axis.low > axis.input;
  }
  bool hasEdges() const { return hasEdge(0) || hasEdge(1) || hasEdge(2); }
};

/// One element of a window.
struct Tap {
  mlir::Value number;                   ///< in row-major order of the window
  llvm::SmallVector<mlir::Value> place; ///< in the input: depth, height, width; of the first lane
  mlir::Value inside;                   ///< i1, or a vector of them; null: always
  mlir::Value insidePadded;             ///< the same for the input with its high padding
};

/// Walks the taps of the window at an output position, of `lanes` windows side by side along the
/// last axis.
class WindowEmitter {
public:
  WindowEmitter(CodeEmitter &e, const WindowPlan &plan, llvm::ArrayRef<mlir::Value> output,
                int64_t lanes)
      : e(e), plan(plan), output(output), lanes(lanes) {}

  using TapBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const Tap &, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> taps(mlir::ValueRange init, TapBody body);

private:
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value lanePlaces(mlir::Value first, int64_t stride);
  Tap tapAt(llvm::ArrayRef<mlir::Value> indices);

  CodeEmitter &e;
  const WindowPlan &plan;
  llvm::ArrayRef<mlir::Value> output;
  int64_t lanes;
};

/// 1 where the condition holds (null: everywhere), else 0.
mlir::Value countOf(CodeEmitter &e, mlir::Value condition, mlir::Type type);

/// The body of a backward kernel.
mlir::LogicalResult emitWindowBackward(KernelFunction &kernel, const WindowPlan &plan);

} // namespace dlc::codegen

#endif
