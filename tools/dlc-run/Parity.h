// Comparing what two builds of a model compute: how far apart two tensors are, and how far apart
// they may be.
//
// The error of a tensor is ||a - b|| / ||b||. What float32 alone makes of it is estimated by the
// random walk of roundings: a sum of K terms, in whatever order, has a relative error of about
// u sqrt(K), u = 2^-24, and independent errors add up in squares. So after s steps of an entry
// whose records sum K1, K2, ... terms for each element that they write, float32's own error is u
// sqrt(s (K1 + K2 + ...)). Two builds that are both right differ by up to twice that; the limit is
// four times. An element of a max pooling or ReLU that lies within rounding of a tie may take the
// other branch, which no bound on rounding covers: it shows as a single large difference.
#ifndef DLC_TOOLS_DLC_RUN_PARITY_H
#define DLC_TOOLS_DLC_RUN_PARITY_H

#include "tools/dlc-run/Tensors.h"

namespace dlc::runtime::tool {

/// How many times float32's own error two builds may differ.
inline constexpr double errorFactor = 4;

/// float32's own error after one step of an entry; times sqrt(s) after s steps.
double ownError(const Plan &plan, const EntryInfo &entry);

struct Difference {
  uint64_t step = 0;
  /// "loss", "activation", "result", "gradient", "parameter", ...
  std::string kind;
  std::string name;
  double error = 0, limit = 0;
  /// Where they differ most, "[3, 0, 1]", and the two values there.
  std::string place;
  double a = 0, b = 0;

  bool tooLarge() const { return !(error <= limit); }
};

/// Compares element by element. Integers must be equal: their limit is zero.
Difference compareTensors(const HostTensor &a, const HostTensor &b, double limit);

/// Compares as sets of float32, for buffers whose layouts differ; zeros are left out, because
/// layouts pad with them. Nothing if the sets have different sizes or hold what is no float32.
std::optional<Difference> compareAsSets(std::vector<float> a, std::vector<float> b, double limit);

} // namespace dlc::runtime::tool

#endif
