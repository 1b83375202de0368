// Direct convolution on the CPU, all three directions, any groups, strides, dilations and paddings per side, one to three
// spatial dimensions, tensors in plain N C (D H) W order.
//
// All directions run on the micro-kernel of MicroKernel.h with output channels across vector lanes and pixels (or, for the
// filter's gradient, filter taps) as broadcast rows. There is no im2col: a task copies the zero-padded input block that it
// needs into its scratch, and a table of offsets (or fixed row distances) walks the taps over it.
#pragma once

#include "codegen/CPU/PackEmitter.h"
#include <array>

namespace dlc::codegen {

/// The geometry, always as three spatial dimensions: missing ones stand first with extent 1.
struct ConvolutionProblem {
  enum class Direction { Forward, BackwardData, BackwardFilter };
  using Spatial = std::array<int64_t, 3>;

  Direction direction = Direction::Forward;
  int64_t batch = 1, groups = 1;
  /// Channels of x and y, all groups together.
  int64_t inChannels = 1, outChannels = 1;
  /// Extents of x and of the filter.
  Spatial input{1, 1, 1}, kernel{1, 1, 1};
  Spatial stride{1, 1, 1}, dilation{1, 1, 1}, padLow{0, 0, 0}, padHigh{0, 0, 0};

  /// Extents of y.
  Spatial output() const;
};

/// Index spaces: x and y (n, channel, d, h, w), the filter (k, c within the group, d, r, s).
///   Forward:        source x,  other filter, result y
///   BackwardData:   source dy, other filter, result dx
///   BackwardFilter: source x,  other dy,     result the filter's gradient
struct ConvolutionOperands {
  Source source, other;
  Sink result;
  /// Buffers in dlc_args; the workspace follows as buffer number `arguments`.
  unsigned arguments = 3;
};

/// Appends the kernel's functions to `module`; their names start with `symbol`.
EmittedKernel emitConvolution(mlir::ModuleOp module, llvm::StringRef symbol,
                              const ConvolutionProblem &problem,
                              const ConvolutionOperands &operands, const MachineModel &machine);

} // namespace dlc::codegen
