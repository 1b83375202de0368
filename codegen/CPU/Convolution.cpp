// See Convolution.h.
#include "codegen/CPU/Convolution.h"
#include "codegen/CPU/ConvolutionEmit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc::codegen;

void dlc::codegen::copyPlane(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                             const ConvolutionProblem::Spatial &extents, int64_t rows,
                             int64_t pitch, Value target) {
  Value depth = corner[2], zero = e.constant(0);
  Value depthExists = e.both(e.less(e.constant(-1), depth), e.less(depth, e.constant(extents[0])));
  e.loop(rows, [&](Value row) {
    Value h = e.add(corner[3], row);
    Value exists = e.both(depthExists, e.both(e.less(e.constant(-1), h),
                                              e.less(h, e.constant(extents[1]))));
    Value end = e.b.createOrFold<arith::SelectOp>(e.loc, exists, e.constant(extents[2]),
                                                  e.constant(-(int64_t(1) << 30)));
    e.loop(zero, e.constant(pitch), e.lanes, [&](Value chunk) {
      Value w = e.add(corner[4], chunk);
      Value mask = e.intersect(e.lanesFrom(e.sub(zero, w)), e.lanesBelow(e.sub(end, w)));
      Value vector = source.read(e, {{corner[0], corner[1], depth, h, w}, 4, 1, mask});
      e.store(vector, e.at(target, e.add(e.mul(row, pitch), chunk)));
    });
  });
}

static EmittedKernel emitFlat(ModuleOp module, StringRef symbol, const ConvolutionProblem &problem,
                              const ConvolutionOperands &operands, const MachineModel &machine) {
  if (problem.direction == ConvolutionProblem::Direction::BackwardFilter)
    return emitFilterConvolution(module, symbol, problem, operands, machine,
                                 chooseFilterSchedule(problem, machine));
  return emitDataConvolution(module, symbol, problem, operands, machine,
                             chooseDataSchedule(DataGeometry(problem), machine));
}

EmittedKernel dlc::codegen::emitConvolution(ModuleOp module, StringRef symbol,
                                            const ConvolutionProblem &problem,
                                            const ConvolutionOperands &operands,
                                            const MachineModel &machine) {
  if (!isPointwise(problem))
    return emitFlat(module, symbol, problem, operands, machine);
  ConvolutionProblem row = problem;
  row.input = {1, 1, problem.input[0] * problem.input[1] * problem.input[2]};
  return emitFlat(module, symbol, row, operands, machine);
}
