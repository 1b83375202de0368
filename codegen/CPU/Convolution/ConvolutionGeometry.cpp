//===- ConvolutionGeometry.cpp - see ConvolutionGeometry.h ------------------------------------===//
#include "codegen/CPU/Convolution/ConvolutionGeometry.h"
#include "codegen/CPU/CostModel.h"
#include <algorithm>
#include <optional>

using namespace dlc::codegen;

std::string dlc::codegen::filterOrder(const ConvolutionProblem &p) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << p.groups << " groups ";
  if (p.direction == ConvolutionProblem::Direction::Forward) {
    stream << "forward";
    return text;
  }
  // Taps in the order of the phases that they belong to.
  stream << "backward data";
  for (const auto &list : {p.input, p.output, p.stride, p.dilation, p.padLow})
    stream << ' ' << list[0] << 'x' << list[1] << 'x' << list[2];
  return text;
}

bool dlc::codegen::isPointwise(const ConvolutionProblem &p) {
  const ConvolutionProblem::Spatial ones{1, 1, 1}, zeros{0, 0, 0};
  return p.kernel == ones && p.stride == ones && p.padLow == zeros && p.output == p.input;
}

bool dlc::codegen::hasSingleTap(const ConvolutionProblem &p) {
  for (unsigned axis = 0; axis < 3; ++axis)
    if (p.kernel[axis] != 1 || p.padLow[axis] != 0 ||
        (p.output[axis] - 1) * p.stride[axis] >= p.input[axis])
      return false;
  return true;
}

int64_t PhaseDimension::minOffset() const {
  int64_t result = taps.empty() ? 0 : taps.front().offset;
  for (const ConvolutionTap &tap : taps)
    result = std::min(result, tap.offset);
  return result;
}

int64_t PhaseDimension::maxOffset() const {
  int64_t result = taps.empty() ? 0 : taps.front().offset;
  for (const ConvolutionTap &tap : taps)
    result = std::max(result, tap.offset);
  return result;
}

static PhaseDimension forwardDimension(const ConvolutionProblem &p, unsigned axis) {
  PhaseDimension result;
  result.count = p.output[axis];
  for (int64_t r = 0; r < p.kernel[axis]; ++r)
    result.taps.push_back({r, r * p.dilation[axis] - p.padLow[axis]});
  return result;
}

/// Phase `first` of backward data: x index first + i * stride meets y index i + offset through tap
/// r if first + padLow - r * dilation = offset * stride.
static PhaseDimension backwardDimension(const ConvolutionProblem &p, unsigned axis, int64_t first) {
  PhaseDimension result;
  result.first = first;
  result.count = ceilDiv(p.input[axis] - first, p.stride[axis]);
  for (int64_t r = 0; r < p.kernel[axis]; ++r) {
    int64_t distance = first + p.padLow[axis] - r * p.dilation[axis];
    if (distance % p.stride[axis] == 0)
      result.taps.push_back({r, distance / p.stride[axis]});
  }
  return result;
}

DataGeometry::DataGeometry(const ConvolutionProblem &p, int64_t numbers, int64_t group)
    : batch(p.batch), groups(p.groups), numbers(numbers), kernel(p.kernel) {
  const bool forward = p.direction == ConvolutionProblem::Direction::Forward;
  const ConvolutionProblem::Spatial ones{1, 1, 1};
  channels = (forward ? p.inChannels : p.outChannels) / p.groups;
  sourceChannels = ceilDiv(channels, numbers);
  targetChannels = (forward ? p.outChannels : p.inChannels) / p.groups;
  source = forward ? p.input : p.output;
  target = forward ? p.output : p.input;
  sourceStep = forward ? p.stride : ones;
  targetStep = forward ? ones : p.stride;
  // Of row-major images the planes of `numbers` channels become one.
  sourceBlock = std::max<int64_t>((forward ? p.xBlock : p.yBlock) / numbers, 1);
  targetBlock = forward ? p.yBlock : p.xBlock;
  sourcePixel = (forward ? p.xPixel() : p.yPixel()) / numbers;
  sourceBlockStep = (forward ? p.xBlockStep() : p.yBlockStep()) / numbers;
  if (group > 1) // of channels behind all pixels, if it is read where it lies
    sourceBlock = sourceBlockStep = group;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (forward)
      dimensions[axis].push_back(forwardDimension(p, axis));
    else
      for (int64_t first = 0; first < std::min(p.stride[axis], p.input[axis]); ++first)
        dimensions[axis].push_back(backwardDimension(p, axis, first));
  }
}

int64_t DataGeometry::phases() const {
  return int64_t(dimensions[0].size() * dimensions[1].size() * dimensions[2].size());
}

const PhaseDimension &DataGeometry::dimension(int64_t phase, unsigned axis) const {
  for (unsigned inner = 2; inner > axis; --inner)
    phase /= int64_t(dimensions[inner].size());
  return dimensions[axis][phase % dimensions[axis].size()];
}

int64_t DataGeometry::taps(int64_t phase) const {
  int64_t result = 1;
  for (unsigned axis = 0; axis < 3; ++axis)
    result *= int64_t(dimension(phase, axis).taps.size());
  return result;
}

std::optional<int64_t> DataGeometry::solePhase() const {
  const int64_t most = 16; // each has code of its own
  if (targetBlock == 1 || !isFlat() || phases() == 1 || phases() > most)
    return std::nullopt;
  std::optional<int64_t> sole;
  for (int64_t phase = 0; phase < phases(); ++phase)
    if (taps(phase) > 0) {
      if (sole)
        return std::nullopt;
      sole = phase;
    }
  return sole;
}

int64_t DataGeometry::sourceElements() const {
  return batch * groups * sourceChannels * source[0] * source[1] * source[2];
}
int64_t DataGeometry::filterElements() const {
  return groups * sourceChannels * targetChannels * kernel[0] * kernel[1] * kernel[2];
}

int64_t DataGeometry::maxCount(unsigned axis) const {
  int64_t result = 0;
  for (const PhaseDimension &d : dimensions[axis])
    result = std::max(result, d.count);
  return result;
}
int64_t DataGeometry::maxTaps(unsigned axis) const {
  int64_t result = 0;
  for (const PhaseDimension &d : dimensions[axis])
    result = std::max(result, int64_t(d.taps.size()));
  return result;
}
int64_t DataGeometry::maxSpan(unsigned axis) const {
  int64_t result = 0;
  for (const PhaseDimension &d : dimensions[axis])
    result = std::max(result, d.maxOffset() - d.minOffset());
  return result;
}

int64_t DataGeometry::tapStep(unsigned axis) const {
  for (const PhaseDimension &d : dimensions[axis])
    if (d.taps.size() > 1)
      return std::abs(d.taps[1].offset - d.taps[0].offset);
  return 1;
}

std::pair<int64_t, int64_t> DataGeometry::offsetRange(unsigned axis) const {
  std::optional<std::pair<int64_t, int64_t>> range;
  for (const PhaseDimension &d : dimensions[axis])
    for (const ConvolutionTap &tap : d.taps)
      range =
          range ? std::pair(std::min(range->first, tap.offset), std::max(range->second, tap.offset))
                : std::pair(tap.offset, tap.offset);
  return range.value_or(std::pair(int64_t(0), int64_t(0)));
}

bool DataGeometry::isSampling() const {
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto [first, last] = offsetRange(axis);
    auto isInside = [&](const PhaseDimension &d) {
      return d.taps.empty() || first + (d.count - 1) * sourceStep[axis] < source[axis];
    };
    if (maxTaps(axis) > 1 || first != last || first < 0 ||
        !llvm::all_of(dimensions[axis], isInside))
      return false;
  }
  return true;
}

bool DataGeometry::isFlat() const {
  const PhaseDimension &depth = dimensions[0].front();
  return dimensions[0].size() == 1 && source[0] == 1 && depth.count == 1 &&
         depth.taps.size() == 1 && depth.taps.front().offset == 0;
}

bool DataGeometry::isInside() const {
  auto isInside = [&](unsigned axis) {
    return llvm::all_of(dimensions[axis], [&](const PhaseDimension &d) {
      return d.taps.empty() || (d.minOffset() >= 0 &&
                                d.maxOffset() + (d.count - 1) * sourceStep[axis] < source[axis]);
    });
  };
  return isFlat() && isInside(1) && isInside(2);
}
