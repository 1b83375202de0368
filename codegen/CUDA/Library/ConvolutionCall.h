//===- ConvolutionCall.h - a convolution as cuDNN is told it ------------------------*- C++ -*-===//
//
// Tensor cores take channels by fours or eights, and a call of few channels is told zeros behind
// them. With a stride it is told the same sums without one: an axis of stride s is folded, s
// neighbours of the image become channels, and so do the taps that meet them.
//
//   image [N, 3, 224, 224], filter [64, 3, 7, 7], stride 2, 3 pixels below
//   image [N, 12, 112, 112], filter [64, 12, 4, 4], stride 1, 2 pixels below
//
// Taps 2 * q + r - 1 of the filter are those of phase r: the first of them, and of each filter
// whose taps do not fill their blocks, are zeros.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_LIBRARY_CONVOLUTIONCALL_H
#define DLC_CODEGEN_CUDA_LIBRARY_CONVOLUTIONCALL_H

#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dlc/abi.h"

namespace dlc::codegen {

/// An axis of space: element `own` is element (own + shift) / fold as called, and what remains of
/// that division is its phase.
struct CalledAxis {
  int64_t own, called, fold = 1, shift = 0;
};

/// A convolution's tensor: outer index, channels, space.
struct ChannelTensor {
  llvm::StringRef name; ///< of its accessor
  mlir::Value value;
  int64_t outer, channels;
  int64_t calledChannels; ///< phases, the channels of each; behind them zeros
  std::array<CalledAxis, 3> axes;
  bool channelsLast; ///< in memory as the call takes it

  llvm::SmallVector<int64_t, 3> space() const;
  int64_t pixels() const;
  int64_t calledPixels() const;
  int64_t elements() const { return outer * channels * pixels(); }
  int64_t calledElements() const { return outer * calledChannels * calledPixels(); }
  /// Whether the call is told other elements than the tensor has.
  bool isExtended() const { return calledChannels != channels; }
  /// Whether both orders are the same in memory.
  bool liesEqually() const { return channels == 1 || pixels() == 1; }
};

/// A convolution in any direction: its result, its operands in the order of the call.
struct ConvolutionCall {
  dl::ConvolutionGeometry geometry; ///< as called
  dlc_library_op op;
  ChannelTensor result, first, second;

  /// `multiple`: of few channels so many are called.
  ConvolutionCall(mlir::Operation *anchor, bool channelsLast, int64_t multiple);
  bool channelsLast() const { return result.channelsLast; }
  /// Op, sizes and layout.
  dlc_library_call describe() const;
};

} // namespace dlc::codegen

#endif
