// oneDNN's direct convolutions in its own blocked layouts, and its dnnl_sgemm on plain matrices. Time counts the
// primitive alone; values are reordered from and to plain layouts for comparison.
#pragma once

#include "codegen/CPU/Convolution.h"
#include <functional>
#include <memory>
#include <string>

namespace dlc::bench {

class Rival {
public:
  virtual ~Rival() = default;
  /// Runs the primitive once on the operands given at construction.
  virtual void run() = 0;
  /// Copies the result in plain row-major order.
  virtual void result(float *target) = 0;
  virtual std::string name() const = 0;
};

/// Operands in plain order: source, other (see ConvolutionOperands).
std::unique_ptr<Rival> makeConvolutionRival(const codegen::ConvolutionProblem &problem,
                                            float *source, float *other);
/// c[m][n] = a[m][k] * b[k][n], each stored transposed if asked.
std::unique_ptr<Rival> makeMatmulRival(int64_t m, int64_t n, int64_t k, bool transposeA,
                                       bool transposeB, float *a, float *b);

} // namespace dlc::bench
