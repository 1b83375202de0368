//===- FourierCodelet.h - Fourier transforms as straight-line sums ------------------*- C++ -*-===//
//
//   X[k] = sum over j of x[j] e^(sign 2 pi i j k / n)        n = 2^a m, m odd
//
// Halved by decimation in time down to the odd part, which is summed as it stands: its pairs of
// points share their sums (Cooley and Tukey, An Algorithm for the Machine Calculation of Complex
// Fourier Series, 1965; real signals after Sorensen et al., Real-Valued Fast Fourier Transform
// Algorithms, 1987). A codelet is a list of operations on single numbers, so that it can be
// counted, run in float64 and emitted on vectors. Inputs that are known to be zero, and outputs
// that nobody wants, take their operations with them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_FOURIERCODELET_H
#define DLC_CODEGEN_KERNEL_FOURIERCODELET_H

#include <cstdint>
#include <functional>
#include <vector>

namespace dlc::codegen {

class FourierCodelet {
public:
  /// A number: an operation's, or zero.
  using Number = int;
  static constexpr Number zero = -1;

  struct Operation {
    enum Kind { Input, Add, Subtract, Scale, ScaleAdd } kind;
    Number a, b;   ///< the input's number in `a`
    double factor; ///< Scale: factor * a; ScaleAdd: factor * a + b
  };

  /// n real numbers, of which the first `given` are not zero, to points 0 ... n/2: real parts, then
  /// imaginary ones.
  static FourierCodelet fromReal(int64_t n, int64_t given, int sign);
  /// Those points to the first `wanted` real numbers. The imaginary parts of point 0 and, for even
  /// n, n/2 are taken as zero.
  static FourierCodelet toReal(int64_t n, int64_t wanted, int sign);
  /// n complex numbers, real parts, then imaginary ones, of which the first `given` are not zero,
  /// to the first `wanted`, in the same order.
  static FourierCodelet complex(int64_t n, int64_t given, int64_t wanted, int sign);

  const std::vector<Operation> &operations() const { return list; }
  const std::vector<Number> &outputs() const { return results; }
  /// Additions, multiplications and both in one.
  int64_t count() const;

  /// Points that a real signal of n numbers has.
  static int64_t half(int64_t n) { return n / 2 + 1; }

private:
  friend class CodeletBuilder;
  void dropUnused();

  std::vector<Operation> list;
  std::vector<Number> results;
};

} // namespace dlc::codegen

#endif
