//===- Convolution.cpp - the convolution family -----------------------------------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "test/lib/Interpreter/Interpreter.h"

using namespace mlir;

namespace dlc::interpreter {
namespace {

/// y[n, k, p] += x[n, c, i] * w[k, c', r] with i = p * stride + r * dilation - low, on three
/// spatial axes: missing ones are of size 1 and stand first.
struct Convolution {
  int64_t batch, channels, filters, groups;
  int64_t input[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, output[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0, 0, 0};

  template <typename Op>
  Convolution(Op op, const Shape &x, const Shape &w, const Shape &y)
      : batch(x[0]), channels(x[1]), filters(w[0]), groups(op.getGroups()) {
    size_t spatial = x.size() - 2;
    for (size_t i = 0; i < spatial; ++i) {
      size_t axis = i + 3 - spatial;
      input[axis] = x[i + 2];
      kernel[axis] = w[i + 2];
      output[axis] = y[i + 2];
      stride[axis] = op.getStrides()[i];
      dilation[axis] = op.getDilations()[i];
      low[axis] = op.getPadding()[2 * i];
    }
  }

  /// Calls visit(x's offset, w's offset, y's offset) for every product that is not with padding.
  template <typename Visit> void forEachProduct(Visit visit) const {
    int64_t perGroup = channels / groups, filtersPerGroup = filters / groups;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t k = 0; k < filters; ++k)
        for (int64_t c = 0; c < perGroup; ++c) {
          int64_t channel = k / filtersPerGroup * perGroup + c;
          forEachPixel(n * channels + channel, k * perGroup + c, n * filters + k, visit);
        }
  }

private:
  template <typename Visit>
  void forEachPixel(int64_t xPlane, int64_t wPlane, int64_t yPlane, Visit visit) const {
    for (int64_t p0 = 0; p0 < output[0]; ++p0)
      for (int64_t p1 = 0; p1 < output[1]; ++p1)
        for (int64_t p2 = 0; p2 < output[2]; ++p2) {
          int64_t y = ((yPlane * output[0] + p0) * output[1] + p1) * output[2] + p2;
          forEachTap(xPlane, wPlane, y, {p0, p1, p2}, visit);
        }
  }

  template <typename Visit>
  void forEachTap(int64_t xPlane, int64_t wPlane, int64_t y, const Index &p, Visit visit) const {
    for (int64_t r0 = 0; r0 < kernel[0]; ++r0)
      for (int64_t r1 = 0; r1 < kernel[1]; ++r1)
        for (int64_t r2 = 0; r2 < kernel[2]; ++r2) {
          int64_t i0 = p[0] * stride[0] + r0 * dilation[0] - low[0];
          int64_t i1 = p[1] * stride[1] + r1 * dilation[1] - low[1];
          int64_t i2 = p[2] * stride[2] + r2 * dilation[2] - low[2];
          if (i0 < 0 || i0 >= input[0] || i1 < 0 || i1 >= input[1] || i2 < 0 || i2 >= input[2])
            continue;
          visit(((xPlane * input[0] + i0) * input[1] + i1) * input[2] + i2,
                ((wPlane * kernel[0] + r0) * kernel[1] + r1) * kernel[2] + r2, y);
        }
  }
};

} // namespace

Values runConvolution(Operation *op, ArrayRef<Tensor> operands) {
  if (!isa<dl::ConvolutionOp, dl::ConvolutionBackwardDataOp, dl::ConvolutionBackwardFilterOp>(op))
    return std::nullopt;
  const std::vector<double> &a = operands[0].values, &b = operands[1].values;
  Tensor result = Tensor::filled(shapeOf(op->getResult(0).getType()), 0);
  std::vector<double> &out = result.values;
  if (auto forward = dyn_cast<dl::ConvolutionOp>(op))
    Convolution(forward, operands[0].shape, operands[1].shape, result.shape)
        .forEachProduct([&](int64_t x, int64_t w, int64_t y) { out[y] += a[x] * b[w]; });
  if (auto data = dyn_cast<dl::ConvolutionBackwardDataOp>(op))
    Convolution(data, result.shape, operands[1].shape, operands[0].shape)
        .forEachProduct([&](int64_t x, int64_t w, int64_t y) { out[x] += a[y] * b[w]; });
  if (auto filter = dyn_cast<dl::ConvolutionBackwardFilterOp>(op))
    Convolution(filter, operands[0].shape, result.shape, operands[1].shape)
        .forEachProduct([&](int64_t x, int64_t w, int64_t y) { out[w] += a[x] * b[y]; });
  return std::vector<Tensor>{std::move(result)};
}

} // namespace dlc::interpreter
