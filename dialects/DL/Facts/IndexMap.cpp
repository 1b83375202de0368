//===- IndexMap.cpp - see IndexMap.h ----------------------------------------------------------===//
#include "dialects/DL/Facts/IndexMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace dlc::dl;

/// Merges axis `i` of the result with its outer neighbour if the operand has them as neighbours
/// too, or neither. Then the number of the result's axes falls by one.
static bool mergeWithOuter(IndexMap &map, int64_t i) {
  auto reads = [&](int64_t axis) {
    return find_if(map.operand, [=](const IndexMap::Axis &x) { return x.from == axis; });
  };
  auto outer = reads(i - 1), inner = reads(i);
  bool isRead = inner != map.operand.end();
  if (isRead != (outer != map.operand.end()))
    return false;
  if (isRead && (inner != outer + 1 || !map.isWhole(*inner) || !map.isWhole(*outer)))
    return false;
  map.result[i - 1] *= map.result[i];
  if (isRead) {
    outer->extent *= inner->extent;
    map.operand.erase(inner);
  }
  map.result.erase(map.result.begin() + i);
  for (IndexMap::Axis &axis : map.operand)
    axis.from -= axis.from >= i;
  return true;
}

/// Removes axis `i` of the result, which has one element, if what it decides is no more than that.
static bool dropSingle(IndexMap &map, int64_t i) {
  auto axis = find_if(map.operand, [=](const IndexMap::Axis &x) { return x.from == i; });
  if (map.result[i] != 1 || (axis != map.operand.end() && !map.isWhole(*axis)))
    return false;
  if (axis != map.operand.end())
    map.operand.erase(axis);
  map.result.erase(map.result.begin() + i);
  for (IndexMap::Axis &other : map.operand)
    other.from -= other.from > i;
  return true;
}

IndexMap IndexMap::get(ArrayRef<int64_t> result, ArrayRef<Axis> operand) {
  IndexMap map;
  map.result.assign(result.begin(), result.end());
  map.operand.assign(operand.begin(), operand.end());
  for (int64_t i = map.result.size(); i-- > 0;)
    dropSingle(map, i);
  for (int64_t i = map.result.size(); i-- > 1;)
    mergeWithOuter(map, i);
  return map;
}

bool IndexMap::mayMiss(const Axis &axis) const {
  int64_t last = axis.scale * (result[axis.from] - 1) + axis.offset;
  return axis.offset < 0 || last > (axis.extent - 1) * axis.divisor || axis.divisor != 1 ||
         axis.lookup != 0;
}

bool IndexMap::isIdentity() const {
  return operand.size() == result.size() && keepsOrder() && isWhole();
}

bool IndexMap::keepsOrder() const {
  return is_sorted(operand, [](const Axis &a, const Axis &b) { return a.from < b.from; });
}
