//===- FmaKernel.cpp - products by multiply-adds of vectors, f32 or f64 -----------------------===//
#include "codegen/CPU/Gemm/BroadcastKernel.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class FmaKernel : public BroadcastKernel {
public:
  StringRef name() const override { return ""; }
  bool takes(Element, const CpuTarget &) const override { return true; }
  int64_t step() const override { return 1; }
  PackedFormat formatA(Element element) const override { return {element.computed}; }
  PackedFormat formatB(Element element) const override { return {element.computed}; }

  Value broadcast(PackEmitter &e, Value row, int64_t offset) const override {
    return e.splat(e.load(row, e.constant(offset), e.floatType()), e.lanes);
  }
  Value column(PackEmitter &e, Value place) const override { return e.loadAligned(place); }
  Value multiplyAdd(PackEmitter &e, Value factor, Value column, Value sum) const override {
    return vector::FMAOp::create(e.b, e.loc, factor, column, sum);
  }

private:
  double perCycle(const MachineModel &machine) const override { return machine.fmasPerCycle; }
  double latency(const MachineModel &machine) const override { return machine.fmaLatency; }
};
} // namespace

const MicroKernel &codegen::fmaKernel() {
  static const FmaKernel kernel;
  return kernel;
}
