//===- IndexMapTest.cpp - index ops as maps with the fewest axes ------------------------------===//
#include "dialects/DL/Facts/IndexMap.h"
#include <gtest/gtest.h>

using dlc::dl::IndexMap;
using Shape = llvm::SmallVector<int64_t>;

static Shape extents(const IndexMap &map) {
  Shape shape;
  for (const IndexMap::Axis &axis : map.operand)
    shape.push_back(axis.extent);
  return shape;
}

/// [N, C, H, W] to [N, H, W, C]: the pixels stay neighbours, so they are one axis.
TEST(IndexMap, NeighboursStayOneAxis) {
  IndexMap map = IndexMap::get({2, 4, 5, 3}, {{2, 0}, {3, 3}, {4, 1}, {5, 2}});
  EXPECT_EQ(map.result, Shape({2, 20, 3}));
  EXPECT_EQ(extents(map), Shape({2, 3, 20}));
  EXPECT_FALSE(map.keepsOrder());
  EXPECT_FALSE(map.isIdentity());
}

/// Axes of one element decide nothing: only these are moved.
TEST(IndexMap, MovedAxesOfOneElement) {
  IndexMap map = IndexMap::get({4, 1, 5}, {{1, 1}, {4, 0}, {5, 2}});
  EXPECT_EQ(map.result, Shape({20}));
  EXPECT_TRUE(map.isIdentity());
}

/// A bias over channels: what repeats in front of it and behind it are an axis each.
TEST(IndexMap, Repeated) {
  IndexMap map = IndexMap::get({2, 1, 3, 4, 5}, {{3, 2}});
  EXPECT_EQ(map.result, Shape({2, 3, 20}));
  EXPECT_EQ(extents(map), Shape({3}));
  EXPECT_EQ(map.operand[0].from, 1);
  EXPECT_TRUE(map.keepsOrder());
  EXPECT_FALSE(map.isIdentity());
}

/// Elements a step apart are no neighbours, and one element of a longer axis is a choice.
TEST(IndexMap, Steps) {
  IndexMap map = IndexMap::get({2, 3, 4, 1}, {{2, 0}, {3, 1}, {9, 2, 2, 1}, {7, 3, 1, 6}});
  EXPECT_EQ(map.result, Shape({6, 4, 1}));
  EXPECT_EQ(extents(map), Shape({6, 9, 7}));
  EXPECT_FALSE(map.isIdentity());
  for (const IndexMap::Axis &axis : map.operand)
    EXPECT_FALSE(map.mayMiss(axis));
}

/// Before, behind and between the elements there are none.
TEST(IndexMap, Misses) {
  auto mayMiss = [](IndexMap::Axis axis) { return IndexMap::get({5}, axis).mayMiss(axis); };
  EXPECT_FALSE(mayMiss({5, 0, 1, 0, 1}));
  EXPECT_TRUE(mayMiss({4, 0, 1, -1, 1}));
  EXPECT_TRUE(mayMiss({4, 0, 1, 0, 1}));
  EXPECT_TRUE(mayMiss({3, 0, 1, 0, 2}));
}

/// An axis whose index is looked up is like no axis of the result.
TEST(IndexMap, LookedUp) {
  IndexMap::Axis lookedUp{5, 1};
  lookedUp.lookup = 1;
  IndexMap map = IndexMap::get({2, 5, 3}, {{2, 0}, lookedUp, {3, 2}});
  EXPECT_EQ(map.result, Shape({2, 5, 3}));
  EXPECT_TRUE(map.mayMiss(map.operand[1]));
  EXPECT_FALSE(map.isIdentity());
  map = IndexMap::get({1, 1, 1}, {{1, 0}, lookedUp, {1, 2}});
  EXPECT_EQ(extents(map), Shape({5}));
}
