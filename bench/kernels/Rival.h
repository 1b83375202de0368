//===- Rival.h - a library's version of a kernel ------------------------------------*- C++ -*-===//
//
// oneDNN's: direct convolutions of images in its own blocked layouts, and dnnl_sgemm on plain
// matrices, or in bf16 its matmul in layouts of its own. Time counts the primitive and, as ours
// does, what brings row-major filters of convolutions into its layout, and their gradients back.
// Values are reordered from and to plain layouts of f32 for comparison.
// Libxsmm.h has a second one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_BENCH_KERNELS_RIVAL_H
#define DLC_BENCH_KERNELS_RIVAL_H

#include <cstdint>
#include <memory>
#include <string>

namespace dlc::bench {

enum class Direction { Forward, BackwardData, BackwardFilter };

/// A square convolution with equal padding on all sides.
struct Convolution {
  int64_t batch, inChannels, outChannels, extent, kernel, pad, stride, groups = 1;
  int64_t outExtent() const { return (extent + 2 * pad - kernel) / stride + 1; }
};

/// A linear layer: y = x w^T, dx = dy w and dw = dy^T x, with w (out, in).
struct Linear {
  int64_t batch, in, out;
};

class Rival {
public:
  virtual ~Rival() = default;
  /// Runs the primitive once on the operands given at construction. `prepared`: a filter is in the
  /// primitive's layout already, by a run before.
  virtual void run(bool prepared) = 0;
  /// Copies the result in plain row-major order.
  virtual void result(float *target) = 0;
  virtual std::string name() const = 0;
};

/// Operands in plain order: x and w, dy and w, or x and dy. `half`: of bf16; null where the library
/// has none for the processor.
std::unique_ptr<Rival> makeConvolutionRival(const Convolution &problem, Direction direction,
                                            bool half, float *first, float *second);
/// c[m][n] = a[m][k] * b[k][n], each stored transposed if asked.
std::unique_ptr<Rival> makeMatmulRival(int64_t m, int64_t n, int64_t k, bool transposeA,
                                       bool transposeB, bool half, float *a, float *b);

} // namespace dlc::bench

#endif
