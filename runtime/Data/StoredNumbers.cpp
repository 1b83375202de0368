// Byte orders, wider types, and the order of axes.
#include "runtime/Data/StoredNumbers.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

using Bytes = std::vector<std::byte>;

template <typename From, typename To> Bytes widen(std::span<const std::byte> from) {
  Bytes wide(from.size() / sizeof(From) * sizeof(To));
  for (size_t i = 0; i < from.size() / sizeof(From); ++i) {
    From number;
    std::memcpy(&number, from.data() + i * sizeof(From), sizeof(From));
    const To same = number;
    std::memcpy(wide.data() + i * sizeof(To), &same, sizeof(To));
  }
  return wide;
}

constexpr StoredType types[] = {{"f4", DLC_F32, 4},
                                {"f8", DLC_F64, 8},
                                {"f2", DLC_F16, 2},
                                {"i1", DLC_I32, 1, widen<int8_t, int32_t>},
                                {"i2", DLC_I32, 2, widen<int16_t, int32_t>},
                                {"i4", DLC_I32, 4},
                                {"i8", DLC_I64, 8},
                                {"u1", DLC_U8, 1},
                                {"u2", DLC_I32, 2, widen<uint16_t, int32_t>},
                                {"u4", DLC_I64, 4, widen<uint32_t, int64_t>},
                                {"b1", DLC_BOOL, 1}};

} // namespace

std::span<const StoredType> storedTypes() { return types; }

const StoredType *findStoredType(std::string_view name) {
  const auto *type = std::ranges::find(types, name, &StoredType::name);
  return type == std::end(types) ? nullptr : type;
}

void swapBytes(std::span<std::byte> elements, uint64_t bytesOfElement) {
  for (; bytesOfElement > 1 && !elements.empty(); elements = elements.subspan(bytesOfElement))
    std::ranges::reverse(elements.first(bytesOfElement));
}

Bytes rowsOfColumns(std::span<const std::byte> columns, std::span<const uint64_t> shape,
                    uint64_t bytesOfElement) {
  Bytes rows(columns.size());
  std::vector<uint64_t> index(shape.size()), strides(shape.size());
  uint64_t stride = bytesOfElement;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  uint64_t from = 0;
  for (uint64_t to = 0; to < rows.size(); to += bytesOfElement) {
    std::memcpy(rows.data() + to, columns.data() + from, bytesOfElement);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return rows;
}

} // namespace dlc::runtime
