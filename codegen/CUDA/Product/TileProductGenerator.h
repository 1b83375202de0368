//===- TileProductGenerator.h - convolutions as products of transformed tiles -------*- C++ -*-===//
//
// Winograd's minimal filtering, Fourier transforms and plain patches: float32, any body before and
// behind the convolution, in all three directions, one group, the first two with stride and
// dilation 1. Three launches, see tiles.cuh: tiles and filters become numbers in the workspace,
// each number has a matrix product of its own, and what that gives becomes pixels, with the
// epilogue. One fused kernel would need no workspace, but a block's shared memory holds the numbers
// of large tiles for too few tiles and channels at once to multiply them well.
//
// The products are cuBLASLt's where the user wants its products, and our own: of gemm.cuh's tiles
// and parts of k those that are estimated to be the fastest. cuBLASLt does not divide a long k
// among the multiprocessors that few tiles leave idle (H100, 36 products of 64 x 64: 10 TFLOP/s),
// so its operands lie in parts of k, each a product of its own.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_PRODUCT_TILEPRODUCTGENERATOR_H
#define DLC_CODEGEN_CUDA_PRODUCT_TILEPRODUCTGENERATOR_H

#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Library/LibraryCalls.h"
#include "codegen/CUDA/Product/ProductTiles.h"
#include "codegen/CUDA/Reduce/PartialTotals.h"
#include "codegen/Kernel/ScheduleFields.h"
#include "dialects/DL/Facts/ConvolutionForm.h"

namespace dlc::codegen {

/// How tiles are transformed.
struct TileNumbers {
  int64_t high, wide; ///< outputs of a tile
  int64_t products;   ///< numbers that a tile or a filter becomes, each multiplied apart
  int64_t taps;       ///< of a channel that are summed like channels; else 1
  int64_t lanes;      ///< tiles or filters that a block of threads transforms
  /// Of a transform to the products, and from them: those of the left operand, of the right one, of
  /// the result.
  double leftFlops, rightFlops, resultFlops;
};

/// What a candidate keeps of its tiles and of how their products run.
struct TileSchedule {
  int64_t high = 0, wide = 0; ///< outputs of a tile
  int64_t split = 1;          ///< parts of k: the products' own, or of their operands
  int64_t tile = library;     ///< number of gemm.cuh's, or the library's

  static constexpr int64_t library = -1;
  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f(" tile ", s.high);
    f("x", s.wide);
    f(" split ", s.split);
    f(" product ", s.tile);
  }
};

/// A convolution cut into tiles. Forward the left operand is the filter and the right one the
/// image, backward the gradients take their part as in tiles.cuh.
struct TiledConvolution {
  /// `parts`: of a long k, for a library.
  TiledConvolution(const dl::ConvolutionForm &form, const TileNumbers &numbers, int64_t parts = 1);

  /// In the workspace, in elements: sums, numbers of both operands, and what is behind them.
  int64_t leftAt(int64_t split) const {
    return aligned(split * product.batch * product.m * product.n);
  }
  int64_t rightAt(int64_t split) const {
    return leftAt(split) + aligned(product.batch * left.places());
  }
  int64_t end(int64_t split) const {
    return rightAt(split) + aligned(product.batch * right.places());
  }
  /// Indices of the workspace are ints. `more`: elements behind the operands' numbers.
  bool fitsWorkspace(int64_t split, int64_t more = 0) const {
    return end(split) + more < std::numeric_limits<int32_t>::max();
  }
  /// Tiles or filters of a channel of the result.
  int64_t resultsOfChannel() const { return batch * tilesHigh * tilesWide; }
  /// Estimated seconds of the transforms.
  double transformSeconds(const KernelSpec &spec, int64_t split, const GpuMachine &machine) const;

  static int64_t aligned(int64_t elements) {
    return llvm::alignTo(elements, DLC_ALIGNMENT / sizeof(float));
  }

  /// Tiles or filters that become numbers: rows of neighbours in memory.
  struct Operand {
    int64_t rows, lanes;
    int64_t places() const { return rows * lanes; }
  };

  TileNumbers numbers;
  dl::ConvolutionForm::Direction direction;
  int64_t batch, tilesHigh, tilesWide;
  Operand left, right;
  ProductExtents product; ///< its batch is numbers.products, its k all of it
};

class TileProductGenerator : public TextGenerator {
public:
  llvm::SmallVector<Candidate> schedules(const KernelSpec &spec,
                                         const CudaTarget &target) const override;
  mlir::FailureOr<KernelText> write(const KernelSpec &spec,
                                    const Candidate &candidate) const override;
  /// Why it offers nothing for the spec, a convolution, within any workspace.
  std::string refusal(const KernelSpec &spec, const CudaTarget &target) const;

protected:
  static constexpr int64_t threads = partsThreads; ///< of a block of the transforms

  /// `skeleton` has the functions <skeleton>Operands and <skeleton>Results.
  TileProductGenerator(ConvolutionAlgorithm algorithm, llvm::StringRef skeleton)
      : algorithm(algorithm), skeleton(skeleton) {}

  /// Why no tile runs the convolution, whatever is fused around it; empty if some do.
  virtual std::string geometryRefusal(const dl::ConvolutionForm &form,
                                      const CudaTarget &target) const = 0;
  /// Those worth trying, if none is refused.
  virtual llvm::SmallVector<TileNumbers> tiles(const dl::ConvolutionForm &form,
                                               const CudaTarget &target) const = 0;
  /// Tiles of high x wide outputs.
  virtual TileNumbers numbersOf(const dl::ConvolutionForm &form, int64_t high,
                                int64_t wide) const = 0;
  /// Whether a filter's gradient may be multiplied in parts of k.
  virtual bool dividesK() const { return true; }
  /// Of the products that a library computes.
  virtual CallType productType(mlir::Operation *convolution) const { return {}; }
  /// What the skeleton asks of Problem besides tiles.cuh.
  virtual void addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                             const TileNumbers &numbers) const = 0;

private:
  std::string refusal(const dl::ConvolutionForm &form, const CudaTarget &target) const;
  int64_t partsOfK(const TiledConvolution &tiled, const GpuMachine &machine) const;
  Candidate scheduleTransforms(const KernelSpec &spec, const TiledConvolution &tiled, int64_t split,
                               const GpuMachine &machine) const;
  std::optional<Candidate> scheduleOwn(const KernelSpec &spec, const TiledConvolution &tiled,
                                       int64_t more, const GpuMachine &machine) const;
  Candidate scheduleLibrary(const KernelSpec &spec, const CudaTarget &target,
                            const TiledConvolution &tiled, int64_t parts) const;

  void addPhases(KernelText &text, dl::ConvolutionForm::Direction direction,
                 const ProductTile *tile, bool reduces) const;

  ConvolutionAlgorithm algorithm;
  llvm::StringRef skeleton;
};

} // namespace dlc::codegen

#endif
