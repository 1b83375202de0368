//===- ProductTiles.h - how gemm.cuh cuts a product ---------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_PRODUCT_PRODUCTTILES_H
#define DLC_CODEGEN_CUDA_PRODUCT_PRODUCTTILES_H

#include "codegen/CUDA/Text/KernelText.h"
#include "codegen/Machine/Machine.h"

namespace dlc::codegen {

/// C [batch, m, n] = A [batch, m, k] * B [batch, k, n]
struct ProductExtents {
  int64_t batch, m, n, k;
};

/// What a block multiplies at a time, and what of it a thread accumulates.
struct ProductTile {
  int64_t m, n, k, tm, tn;

  uint32_t threads() const { return (m / tm) * (n / tn); }
  int64_t blocksOf(const ProductExtents &p) const;
  /// How many blocks should share a tile's k, so that the GPU is full.
  int64_t splitOf(const ProductExtents &p, const GpuMachine &machine) const;
  /// Estimated seconds of the multiplications; launches and the way to memory are not in it.
  double seconds(const ProductExtents &p, int64_t split, const GpuMachine &machine) const;
  /// "tile 64x32x16 split 2"
  std::string text(int64_t split) const;
  /// TILE_M and the others that the skeleton asks for.
  void addConstants(KernelText &text, int64_t split) const;
};

/// Large ones reuse more, small ones fill the GPU.
llvm::ArrayRef<ProductTile> productTiles();

} // namespace dlc::codegen

#endif
