//===- ConvolutionCall.cpp - see ConvolutionCall.h --------------------------------------------===//
#include "codegen/CUDA/Library/ConvolutionCall.h"
#include "codegen/Kernel/KernelSpec.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

SmallVector<int64_t, 3> ChannelTensor::space() const {
  return llvm::map_to_vector<3>(axes, [](const CalledAxis &axis) { return axis.own; });
}
int64_t ChannelTensor::pixels() const { return product(space()); }
int64_t ChannelTensor::calledPixels() const {
  return product(llvm::map_to_vector(axes, [](const CalledAxis &axis) { return axis.called; }));
}

/// The axis of stride 1 that makes the same sums.
static dl::WindowAxis folded(const dl::WindowAxis &axis) {
  const int64_t first = llvm::divideFloorSigned(-axis.low, axis.stride),
                last = llvm::divideFloorSigned(axis.kernel - 1 - axis.low, axis.stride);
  dl::WindowAxis result;
  result.input = llvm::divideCeil(axis.input, axis.stride);
  result.output = axis.output;
  result.kernel = last - first + 1;
  result.low = -first;
  result.high = axis.output - 1 + result.kernel - result.low - result.input;
  return result;
}

/// The geometry as called with its strides folded; nothing if it has none, or if that makes many
/// more products. Sums that leave inputs out at the end of an axis stay as they are.
static std::optional<dl::ConvolutionGeometry> fold(const dl::ConvolutionGeometry &g,
                                                   int64_t multiple) {
  dl::ConvolutionGeometry result = g;
  bool any = false;
  for (dl::WindowAxis &axis : result.axes) {
    if (axis.dilation != 1)
      return std::nullopt;
    any |= axis.stride != 1;
    result.channels *= axis.stride;
    axis = folded(axis);
    if (axis.high < 0)
      return std::nullopt;
  }
  result.channels = llvm::alignTo(result.channels, multiple);
  // Engines for strides are slower, or there are none.
  if (!any || result.channels * result.kernelSize() > 2 * multiple * g.kernelSize())
    return std::nullopt;
  return result;
}

ConvolutionCall::ConvolutionCall(Operation *anchor, bool channelsLast, int64_t multiple) {
  const auto convolution = dl::ConvolutionForm::get(anchor);
  const dl::ConvolutionGeometry &own = convolution.geometry;
  geometry = own;
  bool isFolded = false;
  if (channelsLast && own.groups == 1 && own.channels < multiple) {
    std::optional<dl::ConvolutionGeometry> without = fold(own, multiple);
    isFolded = without.has_value();
    if (isFolded)
      geometry = *without;
    else
      geometry.channels = multiple;
  }
  auto tensor = [&](StringRef name, Value value, int64_t outer, int64_t channels,
                    int64_t calledChannels, int64_t dl::WindowAxis::*extent) {
    ChannelTensor result{name, value, outer, channels, calledChannels, {}, channelsLast};
    for (auto [axis, ownAxis, calledAxis] :
         llvm::zip_equal(result.axes, own.threeAxes(), geometry.threeAxes())) {
      axis = {ownAxis.*extent, calledAxis.*extent};
      if (isFolded && extent != &dl::WindowAxis::output)
        axis.fold = ownAxis.stride;
      if (isFolded && extent == &dl::WindowAxis::kernel)
        axis.shift = calledAxis.low * ownAxis.stride - ownAxis.low;
    }
    return result;
  };
  const int64_t ofGroup = own.channels / own.groups, calledOfGroup = geometry.channels / own.groups;
  ChannelTensor x = tensor("x", convolution.x, own.batch, own.channels, geometry.channels,
                           &dl::WindowAxis::input);
  ChannelTensor w =
      tensor("w", convolution.w, own.filters, ofGroup, calledOfGroup, &dl::WindowAxis::kernel);
  ChannelTensor y =
      tensor("y", convolution.y, own.batch, own.filters, own.filters, &dl::WindowAxis::output);
  switch (convolution.direction) {
  case dl::ConvolutionForm::Direction::Forward:
    op = DLC_CALL_CONVOLUTION, result = y, first = x, second = w;
    break;
  case dl::ConvolutionForm::Direction::BackwardData:
    op = DLC_CALL_BACKWARD_DATA, result = x, first = y, second = w;
    break;
  case dl::ConvolutionForm::Direction::BackwardFilter:
    op = DLC_CALL_BACKWARD_FILTER, result = w, first = y, second = x;
    break;
  }
}

dlc_library_call ConvolutionCall::describe() const {
  dlc_library_call call = {};
  call.op = op;
  const dl::ConvolutionGeometry &g = geometry;
  SmallVector<int64_t> sizes = {int64_t(g.axes.size()), g.batch, g.groups, g.channels, g.filters};
  for (const dl::WindowAxis &axis : g.axes)
    sizes.append(
        {axis.input, axis.kernel, axis.output, axis.stride, axis.low, axis.high, axis.dilation});
  llvm::copy(sizes, call.sizes);
  call.layout = channelsLast() ? DLC_CALL_CHANNELS_LAST : DLC_CALL_CHANNELS_FIRST;
  return call;
}
