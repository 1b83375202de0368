// A layout is a bijection between logical index and storage place: blocks split axes, then the
// outer parts are permuted. Each logical axis therefore adds a sum of (digit of the index) *
// stride, one digit for each block on it and one for the outer part; the routine below tabulates
// that sum for every index of every axis and then only adds.
#include "runtime/Core/Layout.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

std::optional<uint64_t> checkedElementCount(const std::vector<uint64_t> &shape) {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count) || count >> 56)
      return std::nullopt;
  return count;
}

/// Extent of each axis after the blocks took their parts.
static std::vector<uint64_t> outerExtents(const TensorType &type) {
  std::vector<uint64_t> outer = type.shape;
  for (unsigned block = 0; block < type.layout.block_count; ++block) {
    uint64_t &extent = outer[type.layout.block_axis[block]];
    uint64_t size = type.layout.block_size[block];
    extent = extent / size + (extent % size != 0);
  }
  return outer;
}

static unsigned axisAtPlace(const TensorType &type, unsigned place) {
  return type.layout.permuted ? type.layout.order[place] : place;
}

std::vector<uint64_t> physicalShape(const TensorType &type) {
  std::vector<uint64_t> outer = outerExtents(type), physical;
  for (unsigned place = 0; place < type.shape.size(); ++place)
    physical.push_back(outer[axisAtPlace(type, place)]);
  for (unsigned block = 0; block < type.layout.block_count; ++block)
    physical.push_back(type.layout.block_size[block]);
  return physical;
}

uint64_t storageElements(const TensorType &type) {
  uint64_t count = 1;
  for (uint64_t extent : physicalShape(type))
    count *= extent;
  return count;
}

/// places[axis][index]: what this index adds to the storage place.
static std::vector<std::vector<uint64_t>> axisPlaces(const TensorType &type) {
  std::vector<uint64_t> physical = physicalShape(type), stride(physical.size(), 1);
  for (size_t i = physical.size(); i-- > 1;)
    stride[i - 1] = stride[i] * physical[i];
  const size_t rank = type.shape.size();
  std::vector<uint64_t> outerStride(rank);
  for (unsigned place = 0; place < rank; ++place)
    outerStride[axisAtPlace(type, place)] = stride[place];

  std::vector<std::vector<uint64_t>> places(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    places[axis].resize(type.shape[axis]);
    for (uint64_t index = 0; index < type.shape[axis]; ++index) {
      uint64_t rest = index, place = 0;
      for (unsigned block = 0; block < type.layout.block_count; ++block) {
        if (type.layout.block_axis[block] != axis)
          continue;
        place += rest % type.layout.block_size[block] * stride[rank + block];
        rest /= type.layout.block_size[block];
      }
      places[axis][index] = place + rest * outerStride[axis];
    }
  }
  return places;
}

/// Calls move(storage place) for each logical element in row-major order.
template <typename Move> static void forEachPlace(const TensorType &type, Move &&move) {
  const size_t rank = type.shape.size();
  if (type.elementCount() == 0)
    return;
  if (rank == 0)
    return move(0);
  std::vector<std::vector<uint64_t>> places = axisPlaces(type);
  std::vector<uint64_t> index(rank, 0);
  while (true) {
    uint64_t base = 0;
    for (size_t axis = 0; axis + 1 < rank; ++axis)
      base += places[axis][index[axis]];
    for (uint64_t last : places[rank - 1])
      move(base + last);
    size_t axis = rank - 1;
    while (axis > 0 && ++index[axis - 1] == type.shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

void packLayout(const TensorType &type, const std::byte *logical, std::byte *storage) {
  if (type.isRowMajor()) {
    std::copy_n(logical, type.logicalBytes(), storage);
    return;
  }
  const uint64_t size = dtypeSize(type.dtype);
  std::fill_n(storage, type.storageBytes(), std::byte(0));
  forEachPlace(type, [&](uint64_t place) {
    std::memcpy(storage + place * size, logical, size);
    logical += size;
  });
}

void unpackLayout(const TensorType &type, const std::byte *storage, std::byte *logical) {
  if (type.isRowMajor()) {
    std::copy_n(storage, type.logicalBytes(), logical);
    return;
  }
  const uint64_t size = dtypeSize(type.dtype);
  forEachPlace(type, [&](uint64_t place) {
    std::memcpy(logical, storage + place * size, size);
    logical += size;
  });
}

} // namespace dlc::runtime
