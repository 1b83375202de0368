//===- ProductTiles.cpp - see ProductTiles.h --------------------------------------------------===//
#include "codegen/CUDA/Product/ProductTiles.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dlc::codegen;

llvm::ArrayRef<ProductTile> dlc::codegen::productTiles() {
  static const ProductTile tiles[] = {{64, 64, 16, 8, 4}, {32, 64, 16, 8, 4}, {64, 32, 16, 8, 4},
                                      {32, 32, 16, 4, 4}, {16, 64, 16, 4, 4}, {64, 16, 16, 4, 4}};
  return tiles;
}

int64_t ProductTile::blocksOf(const ProductExtents &p) const {
  return p.batch * llvm::divideCeil(p.m, m) * llvm::divideCeil(p.n, n);
}

int64_t ProductTile::splitOf(const ProductExtents &p, const GpuMachine &machine) const {
  const int64_t leastK = 128;
  int64_t wanted = 2 * machine.multiprocessors / blocksOf(p);
  int64_t split = std::clamp<int64_t>(p.k / leastK, 1, std::max<int64_t>(1, wanted));
  // As the skeleton cuts: whole tiles of k, no part empty.
  int64_t part = llvm::alignTo(llvm::divideCeil(std::max<int64_t>(p.k, 1), split), k);
  return llvm::divideCeil(std::max<int64_t>(p.k, 1), part);
}

double ProductTile::seconds(const ProductExtents &p, int64_t split,
                            const GpuMachine &machine) const {
  // What the blocks multiply, padding of tiles included, spread over the multiprocessors; small
  // tiles read more for each product.
  double waves = std::max(1.0, double(blocksOf(p) * split) / double(machine.multiprocessors));
  double work = 2.0 * m * n * llvm::divideCeil(p.k, split);
  double reads = 1 + 16.0 / m + 16.0 / n;
  return waves * work * reads / machine.tileOperationsPerSecond;
}

std::string ProductTile::text(int64_t split) const {
  return llvm::formatv("tile {0}x{1}x{2} split {3}", m, n, k, split);
}

void ProductTile::addConstants(KernelText &text, int64_t split) const {
  for (auto [name, value] : {std::pair("TILE_M", m),
                             {"TILE_N", n},
                             {"TILE_K", k},
                             {"TM", tm},
                             {"TN", tn},
                             {"SPLIT", split}})
    text.constant(name, value);
}
