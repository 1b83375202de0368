// Comparing what two builds of a model compute: how far apart two tensors are, and how far apart
// they may be.
//
// The error of a tensor is ||a - b|| / ||b||. What float32 alone makes of it is estimated by the
// random walk of roundings: a sum of K terms, in whatever order, has a relative error of about
// u sqrt(K), u = 2^-24, and independent errors add up in squares. So after s steps of an entry
// whose records sum K1, K2, ... terms for each element that they write, float32's own error is u
// sqrt(s (K1 + K2 + ...)). Two builds that are both right differ by up to twice that; the limit is
// four times. A library call that rounds its operands to TF32 adds their roundings, of v = 2^-11,
// to the squares, and v / 64 for the share of elements that a rounding of v moves across a tie of a
// max pooling or the bend of a ReLU, whose gradients are then others altogether: measured are v /
// 50 a call in LeNet and v / 37 in bench/gpu/kernels.dl, within the four times.
//
// Where terms cancel, a tensor is far smaller than what it was summed from and its error is not:
// the gradient of a bias in front of a batch norm is zero, so all that is ever computed of it is
// error. Such errors are measured. By the probabilistic backward error (Higham and Mary, 2019) a
// record that sums K terms computes the exact sum of terms that are each off by about u sqrt(K). So
// one build trains again while each float32 that a record writes is moved by twice that, up or down
// by chance, and what a call in TF32 writes by its two roundings; half the distance by which a
// tensor is moved then is its own error, whatever cancels on the way, and four times that is a
// limit as well. If it is not enough the other build is measured too: what one record computes
// without writing it apart, such as the terms of a sum, is not moved, and a sum of 0 then shows its
// own roundings only, not those that the terms have where they are written.
//
// What a record writes in 16 bits is the same in both builds, but for sums that lie within
// float32's error e of a tie: a number of bf16 is then another one with a probability of about e /
// 2^-7, of f16 e / 2^-10. So the moved run takes a neighbour of so many of them.
//
// An element of a max pooling or ReLU that lies within rounding of a tie may take the other branch,
// which no bound on rounding covers: it shows as a single large difference.
#ifndef DLC_TOOLS_DLC_RUN_PARITY_H
#define DLC_TOOLS_DLC_RUN_PARITY_H

#include "tools/dlc-run/Tensors.h"

namespace dlc::runtime::tool {

/// How many times float32's own error two builds may differ.
inline constexpr double errorFactor = 4;

/// The error of an entry's own arithmetic after one step; times sqrt(s) after s steps.
double ownError(const Plan &plan, const EntryInfo &entry);

/// Whether library calls of the plan round their operands.
bool roundsToTf32(const Plan &plan);
/// Whether some of its arithmetic is f64's.
bool computesInF64(const Plan &plan);

/// Moves what the records of an entry write by a multiple of the error that their arithmetic makes
/// there.
class Roundings {
public:
  /// How many times the error: a move by a single u is one that rounding takes back.
  static constexpr double multiple = 2;

  Roundings(const Plan &plan, const EntryInfo &entry);

  /// Moves the numbers that a record wrote to the arena, by signs drawn from the seed; false, and
  /// nothing moved, where they are no floating-point numbers, or not complete yet.
  bool move(uint32_t record, const dlc_argument &argument, std::span<std::byte> written,
            uint64_t seed) const;

private:
  double termsBehind(uint32_t record, const dlc_argument &argument) const;

  const Plan &plan;
  const EntryInfo &entry;
  /// Terms of each sum that a record makes: those of all phases at the last one, 0 at the others.
  std::vector<double> terms;
};

struct Difference {
  uint64_t step = 0;
  /// "loss", "activation", "result", "gradient", "parameter", ...
  std::string kind;
  std::string name;
  /// Of the tensors: ||a - b|| and ||b||.
  double distance = 0, reference = 0;
  double error = 0, limit = 0;
  /// Terms cancel: the limit is that of the measured error, and the usual one would be too low.
  bool cancels = false;
  /// Where they differ most, "[3, 0, 1]", and the two values there.
  std::string place;
  double a = 0, b = 0;

  bool tooLarge() const { return !(error <= limit); }
  /// Raises the limit to a distance.
  void allow(double most);
};

/// Compares element by element. Integers must be equal: their limit is zero. Where both have the
/// same infinity or are no number, they are equal.
Difference compareTensors(const HostTensor &a, const HostTensor &b, double limit);

/// Compares as sets, for buffers whose layouts differ; zeros are left out, because layouts pad with
/// them, but for those of the smaller set that a ReLU or rounding made of few others. Nothing if
/// more than a 64th is missing there.
std::optional<Difference> compareAsSets(std::vector<float> a, std::vector<float> b, double limit);

} // namespace dlc::runtime::tool

#endif
