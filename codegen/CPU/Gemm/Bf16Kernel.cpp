//===- Bf16Kernel.cpp - products of pairs of bf16 by VDPBF16PS --------------------------------===//
//
// AVX512_BF16's VDPBF16PS multiplies two neighbours along k and adds both products to a lane of
// f32, from the operands that a multiply-add of f32 takes: a pair is a place of 32 bits, so tiles,
// panels and offsets are those of f32, for twice as many numbers. It adds the odd product, then the
// even one, each rounded to f32 as a multiply-add is; a product of two bf16 is exact. Whatever is
// denormal, read or computed, is 0. It knows no other rounding mode and raises no flags.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Gemm/BroadcastKernel.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class Bf16Kernel : public BroadcastKernel {
public:
  StringRef name() const override { return "bf16"; }
  bool takes(Element element, const CpuTarget &target) const override {
    const uint64_t needed = DLC_CPU_AVX512 | DLC_CPU_AVX512_BF16;
    return element.stored.isBF16() && (target.required & needed) == needed && !target.isStrict();
  }
  int64_t step() const override { return 2; }
  PackedFormat formatA(Element element) const override { return {element.stored, 2}; }
  PackedFormat formatB(Element element) const override { return {element.stored, 2}; }

  Value broadcast(PackEmitter &e, Value row, int64_t offset) const override {
    return pairs(e, e.splat(e.load(row, e.constant(offset), e.floatType()), e.lanes));
  }
  Value column(PackEmitter &e, Value place) const override {
    return pairs(e, e.loadAligned(place));
  }
  Value multiplyAdd(PackEmitter &e, Value factor, Value column, Value sum) const override {
    return LLVM::CallIntrinsicOp::create(e.b, e.loc, sum.getType(),
                                         e.b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                         ValueRange{sum, column, factor})
        ->getResult(0);
  }

private:
  /// A vector of places as the pairs that they are.
  static Value pairs(PackEmitter &e, Value places) {
    return LLVM::BitcastOp::create(e.b, e.loc, VectorType::get({2 * e.lanes}, e.element.stored),
                                   places);
  }
  double perCycle(const MachineModel &machine) const override { return machine.bf16DotsPerCycle; }
  double latency(const MachineModel &machine) const override { return machine.bf16DotLatency; }
};
} // namespace

const MicroKernel &codegen::bf16Kernel() {
  static const Bf16Kernel kernel;
  return kernel;
}
