//===- FourierCodelet.cpp - see FourierCodelet.h ----------------------------------------------===//
#include "codegen/Kernel/FourierCodelet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace dlc::codegen;

using Number = FourierCodelet::Number;
static constexpr Number zero = FourierCodelet::zero;

namespace {
struct Complex {
  Number re = zero, im = zero;
};
/// e^(i angle).
struct Root {
  double cosine, sine;
};
} // namespace

/// e^(2 pi i k / n), exact where it has no more than one part.
static Root rootOf(int64_t k, int64_t n) {
  k = (k % n + n) % n;
  if (4 * k % n == 0) {
    static const Root quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return quarters[4 * k / n];
  }
  const double angle = 2 * llvm::numbers::pi * double(k) / double(n);
  return {std::cos(angle), std::sin(angle)};
}

namespace dlc::codegen {

/// Appends operations; those on zero need none.
class CodeletBuilder {
public:
  explicit CodeletBuilder(int sign) : sign(sign) {}

  FourierCodelet take(std::vector<Number> outputs) {
    codelet.results = std::move(outputs);
    codelet.dropUnused();
    return std::move(codelet);
  }

  Number input(int64_t number) {
    return append({FourierCodelet::Operation::Input, Number(number), zero, 1});
  }
  std::vector<Complex> fromReal(const std::vector<Number> &x);
  std::vector<Number> toReal(const std::vector<Complex> &points, int64_t n);
  std::vector<Complex> complex(const std::vector<Complex> &x);

private:
  Number append(FourierCodelet::Operation operation) {
    codelet.list.push_back(operation);
    return Number(codelet.list.size() - 1);
  }
  Number scale(double factor, Number a) {
    if (a == zero || factor == 0)
      return zero;
    return factor == 1 ? a : append({FourierCodelet::Operation::Scale, a, zero, factor});
  }
  /// factor * a + b
  Number scaleAdd(double factor, Number a, Number b) {
    if (a == zero || factor == 0)
      return b;
    if (b == zero)
      return scale(factor, a);
    if (factor == 1)
      return append({FourierCodelet::Operation::Add, a, b, 1});
    if (factor == -1)
      return append({FourierCodelet::Operation::Subtract, b, a, 1});
    return append({FourierCodelet::Operation::ScaleAdd, a, b, factor});
  }
  Number add(Number a, Number b) { return scaleAdd(1, a, b); }
  Number subtract(Number a, Number b) { return scaleAdd(-1, b, a); }
  Complex add(Complex a, Complex b) { return {add(a.re, b.re), add(a.im, b.im)}; }
  Complex subtract(Complex a, Complex b) { return {subtract(a.re, b.re), subtract(a.im, b.im)}; }
  Complex conjugate(Complex a) { return {a.re, scale(-1, a.im)}; }
  Complex multiply(Root w, Complex a);
  void butterfly(Complex even, Complex odd, Root w, Complex &sum, Complex &difference);
  std::vector<Complex> oddComplex(const std::vector<Complex> &x);
  Root root(int64_t k, int64_t n) { return rootOf(sign * k, n); }

  FourierCodelet codelet;
  int sign;
};

} // namespace dlc::codegen

Complex CodeletBuilder::multiply(Root w, Complex a) {
  return {scaleAdd(-w.sine, a.im, scale(w.cosine, a.re)),
          scaleAdd(w.sine, a.re, scale(w.cosine, a.im))};
}

/// even + w odd and even - w odd. The larger part of w is taken out and joins the additions: six
/// operations, and no factor above 1.
void CodeletBuilder::butterfly(Complex even, Complex odd, Root w, Complex &sum,
                               Complex &difference) {
  const bool turned = std::abs(w.sine) > std::abs(w.cosine);
  const double factor = turned ? w.sine : w.cosine;
  const double ratio = (turned ? w.cosine : w.sine) / factor;
  const double realFactor = turned ? -factor : factor;
  Number first = turned ? odd.im : odd.re, second = turned ? odd.re : odd.im;
  Number real = scaleAdd(-ratio, second, first), imaginary = scaleAdd(ratio, first, second);
  sum = {scaleAdd(realFactor, real, even.re), scaleAdd(factor, imaginary, even.im)};
  difference = {scaleAdd(-realFactor, real, even.re), scaleAdd(-factor, imaginary, even.im)};
}

/// X[k] and X[n - k] from the sums and differences of x[j] and x[n - j].
std::vector<Complex> CodeletBuilder::oddComplex(const std::vector<Complex> &x) {
  const int64_t n = int64_t(x.size());
  std::vector<Complex> sums, differences, points(n);
  Complex all = x[0];
  for (int64_t j = 1; j <= n / 2; ++j) {
    sums.push_back(add(x[j], x[n - j]));
    differences.push_back(subtract(x[j], x[n - j]));
    all = add(all, sums.back());
  }
  points[0] = all;
  for (int64_t k = 1; k <= n / 2; ++k) {
    Complex even = x[0], odd;
    for (int64_t j = 1; j <= n / 2; ++j) {
      const Root w = root(j * k, n);
      even = {scaleAdd(w.cosine, sums[j - 1].re, even.re),
              scaleAdd(w.cosine, sums[j - 1].im, even.im)};
      odd = {scaleAdd(w.sine, differences[j - 1].re, odd.re),
             scaleAdd(w.sine, differences[j - 1].im, odd.im)};
    }
    // even + i odd, even - i odd
    points[k] = {subtract(even.re, odd.im), add(even.im, odd.re)};
    points[n - k] = {add(even.re, odd.im), subtract(even.im, odd.re)};
  }
  return points;
}

std::vector<Complex> CodeletBuilder::complex(const std::vector<Complex> &x) {
  const int64_t n = int64_t(x.size());
  if (n % 2 == 1)
    return oddComplex(x);
  std::vector<Complex> even, odd, points(n);
  for (int64_t j = 0; j < n; j += 2)
    even.push_back(x[j]), odd.push_back(x[j + 1]);
  even = complex(even), odd = complex(odd);
  for (int64_t k = 0; k < n / 2; ++k)
    butterfly(even[k], odd[k], root(k, n), points[k], points[n / 2 + k]);
  return points;
}

/// Of a real signal point n - k is point k conjugated.
std::vector<Complex> CodeletBuilder::fromReal(const std::vector<Number> &x) {
  const int64_t n = int64_t(x.size());
  if (n % 2 == 1) {
    std::vector<Complex> points;
    for (Number number : x)
      points.push_back({number, zero});
    points = oddComplex(points);
    points.resize(FourierCodelet::half(n));
    return points;
  }
  std::vector<Number> evenInputs, oddInputs;
  for (int64_t j = 0; j < n; j += 2)
    evenInputs.push_back(x[j]), oddInputs.push_back(x[j + 1]);
  std::vector<Complex> even = fromReal(evenInputs), odd = fromReal(oddInputs);
  std::vector<Complex> points(FourierCodelet::half(n));
  for (int64_t k = 0; k <= n / 4; ++k) {
    Complex difference;
    butterfly(even[k], odd[k], root(k, n), points[k], difference);
    if (n / 2 - k != k)
      points[n / 2 - k] = conjugate(difference);
  }
  return points;
}

std::vector<Number> CodeletBuilder::toReal(const std::vector<Complex> &points, int64_t n) {
  std::vector<Number> x(n);
  if (n % 2 == 1) {
    // x[j] and x[n - j] from what they share: twice the real part of each point and its mirror.
    Number all = points[0].re;
    for (int64_t k = 1; k <= n / 2; ++k)
      all = scaleAdd(2, points[k].re, all);
    x[0] = all;
    for (int64_t j = 1; j <= n / 2; ++j) {
      Number even = points[0].re, odd = zero;
      for (int64_t k = 1; k <= n / 2; ++k) {
        const Root w = root(j * k, n);
        even = scaleAdd(2 * w.cosine, points[k].re, even);
        odd = scaleAdd(-2 * w.sine, points[k].im, odd);
      }
      x[j] = add(even, odd);
      x[n - j] = subtract(even, odd);
    }
    return x;
  }
  std::vector<Complex> even, odd;
  for (int64_t k = 0; k < FourierCodelet::half(n / 2); ++k) {
    const Complex point = points[k], mirror = points[n / 2 - k];
    if (k == n / 2 - k) { // its own mirror
      even.push_back({scale(2, point.re), zero});
      odd.push_back({scale(-2 * sign, point.im), zero});
      continue;
    }
    // What belongs to a real signal has no imaginary part at point 0.
    const Number mirrored = k == 0 ? zero : mirror.im, own = k == 0 ? zero : point.im;
    even.push_back({add(point.re, mirror.re), subtract(own, mirrored)});
    odd.push_back(multiply(root(k, n), {subtract(point.re, mirror.re), add(own, mirrored)}));
  }
  std::vector<Number> evenOutputs = toReal(even, n / 2), oddOutputs = toReal(odd, n / 2);
  for (int64_t j = 0; j < n / 2; ++j)
    x[2 * j] = evenOutputs[j], x[2 * j + 1] = oddOutputs[j];
  return x;
}

//===------------------------------------------------------------------------------------------===//
// Codelets
//===------------------------------------------------------------------------------------------===//

static std::vector<Number> partsOf(const std::vector<Complex> &points) {
  std::vector<Number> numbers;
  for (Complex point : points)
    numbers.push_back(point.re);
  for (Complex point : points)
    numbers.push_back(point.im);
  return numbers;
}

FourierCodelet FourierCodelet::fromReal(int64_t n, int64_t given, int sign) {
  CodeletBuilder builder(sign);
  std::vector<Number> x(n, zero);
  for (int64_t j = 0; j < given; ++j)
    x[j] = builder.input(j);
  return builder.take(partsOf(builder.fromReal(x)));
}

FourierCodelet FourierCodelet::toReal(int64_t n, int64_t wanted, int sign) {
  CodeletBuilder builder(sign);
  std::vector<Complex> points(half(n));
  for (int64_t k = 0; k < half(n); ++k)
    points[k] = {builder.input(k), builder.input(half(n) + k)};
  std::vector<Number> x = builder.toReal(points, n);
  x.resize(wanted);
  return builder.take(x);
}

FourierCodelet FourierCodelet::complex(int64_t n, int64_t given, int64_t wanted, int sign) {
  CodeletBuilder builder(sign);
  std::vector<Complex> x(n);
  for (int64_t j = 0; j < given; ++j)
    x[j] = {builder.input(j), builder.input(given + j)};
  x = builder.complex(x);
  x.resize(wanted);
  return builder.take(partsOf(x));
}

int64_t FourierCodelet::count() const {
  return llvm::count_if(list, [](const Operation &one) { return one.kind != Operation::Input; });
}

void FourierCodelet::dropUnused() {
  std::vector<bool> used(list.size(), false);
  auto use = [&](Number number) {
    if (number != zero)
      used[number] = true;
  };
  llvm::for_each(results, use);
  for (size_t i = list.size(); i-- > 0;)
    if (used[i] && list[i].kind != Operation::Input)
      use(list[i].a), use(list[i].b);
  std::vector<Number> place(list.size(), zero);
  std::vector<Operation> kept;
  auto moved = [&](Number number) { return number == zero ? zero : place[number]; };
  for (size_t i = 0; i < list.size(); ++i) {
    if (!used[i])
      continue;
    Operation operation = list[i];
    if (operation.kind != Operation::Input)
      operation.a = moved(operation.a), operation.b = moved(operation.b);
    place[i] = Number(kept.size());
    kept.push_back(operation);
  }
  for (Number &result : results)
    result = moved(result);
  list = std::move(kept);
}
