//===- InstructionReference.cpp - see InstructionReference.h ----------------------------------===//
#include "test/codegen/InstructionReference.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {
/// A register, and the shape that it has.
struct Tile {
  unsigned rows = 0, rowBytes = 0;
  char bytes[16][64] = {};

  template <typename T> T at(unsigned row, unsigned number) const {
    T value;
    std::memcpy(&value, bytes[row] + number * sizeof(T), sizeof(T));
    return value;
  }
};
thread_local Tile tiles[8];
thread_local bool configured = false;
} // namespace

static Tile &tileOf(uint8_t number) {
  EXPECT_TRUE(configured) << "a register is used before its shape is set, or behind the release";
  EXPECT_LT(number, 8);
  return tiles[number % 8];
}

static void loadShapes(const uint8_t *shapes) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(shapes) % 64, 0u);
  EXPECT_EQ(shapes[0], 1) << "the palette";
  for (unsigned number = 0; number < 8; ++number) {
    uint16_t rowBytes;
    std::memcpy(&rowBytes, shapes + 16 + 2 * number, 2);
    tiles[number] = Tile{shapes[48 + number], rowBytes, {}};
    EXPECT_TRUE(tiles[number].rows <= 16 && rowBytes <= 64);
  }
  configured = true;
}

static void release() { configured = false; }

static void zero(uint8_t number) { std::memset(tileOf(number).bytes, 0, sizeof(Tile::bytes)); }

static void load(uint8_t number, const char *place, int64_t distance) {
  Tile &tile = tileOf(number);
  zero(number);
  for (unsigned row = 0; row < tile.rows; ++row)
    std::memcpy(tile.bytes[row], place + row * distance, tile.rowBytes);
}

static void store(uint8_t number, char *place, int64_t distance) {
  const Tile &tile = tileOf(number);
  for (unsigned row = 0; row < tile.rows; ++row)
    std::memcpy(place + row * distance, tile.bytes[row], tile.rowBytes);
}

/// Denormal numbers are 0, in and out.
static float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
static float widen(uint16_t bits) { return flush(std::bit_cast<float>(uint32_t(bits) << 16)); }

/// The even and the odd products of a row and a column are added on their own, then together, then
/// to the sum.
static void multiply(uint8_t sums, uint8_t a, uint8_t b) {
  Tile &sum = tileOf(sums);
  const Tile &left = tileOf(a), &right = tileOf(b);
  EXPECT_TRUE(left.rows == sum.rows && right.rowBytes == sum.rowBytes &&
              left.rowBytes == 4 * right.rows)
      << "shapes do not fit";
  for (unsigned m = 0; m < sum.rows; ++m)
    for (unsigned n = 0; n < sum.rowBytes / 4; ++n) {
      float parts[2] = {0, 0};
      for (unsigned k = 0; k < right.rows; ++k)
        for (unsigned side = 0; side < 2; ++side)
          parts[side] = flush(std::fma(widen(left.at<uint16_t>(m, 2 * k + side)),
                                       widen(right.at<uint16_t>(k, 2 * n + side)), parts[side]));
      const float all = flush(flush(sum.at<float>(m, n)) + flush(parts[0] + parts[1]));
      std::memcpy(sum.bytes[m] + 4 * n, &all, 4);
    }
}

/// Of a lane the odd products are added first, each rounded as a multiply-add is.
static void multiplyPairs(float *sums, const uint16_t *a, const uint16_t *b) {
  for (unsigned lane = 0; lane < 16; ++lane)
    for (unsigned number : {2 * lane + 1, 2 * lane})
      sums[lane] = flush(std::fma(widen(a[number]), widen(b[number]), flush(sums[lane])));
}

std::vector<std::pair<llvm::StringRef, void *>> dlc::test::instructionReferences() {
  auto address = [](auto *function) { return reinterpret_cast<void *>(function); };
  return {{"llvm.x86.ldtilecfg", address(&loadShapes)},
          {"llvm.x86.tilerelease", address(&release)},
          {"llvm.x86.tilezero", address(&zero)},
          {"llvm.x86.tileloadd64", address(&load)},
          {"llvm.x86.tilestored64", address(&store)},
          {"llvm.x86.tdpbf16ps", address(&multiply)},
          {"llvm.x86.avx512bf16.dpbf16ps.512", address(&multiplyPairs)}};
}
