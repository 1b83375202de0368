// See MicroKernel.h.
#include "codegen/CPU/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc::codegen;

/// Zeros, or what `acc` holds.
static SmallVector<Value> initialAccumulators(PackEmitter &e, Value accumulate, Value acc,
                                              int64_t count) {
  SmallVector<Type> types(count, e.vectorType());
  auto branch = scf::IfOp::create(e.b, e.loc, types, accumulate, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  SmallVector<Value> values;
  e.b.setInsertionPointToStart(branch.thenBlock());
  for (int64_t i = 0; i < count; ++i)
    values.push_back(e.load(e.at(acc, i * e.lanes), /*aligned=*/true));
  scf::YieldOp::create(e.b, e.loc, values);
  e.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(e.b, e.loc, SmallVector<Value>(count, e.zeroVector()));
  return llvm::to_vector_of<Value>(branch.getResults());
}

LLVM::LLVMFuncOp dlc::codegen::emitMicroKernel(OpBuilder &b, ModuleOp module, Location loc,
                                               const MachineModel &machine,
                                               const MicroKernel &kernel, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  PackEmitter e(b, loc, machine);
  Type p = e.pointerType();
  auto function = createFunction(b, module, loc, name,
                                 {p, p, p, b.getI64Type(), p, b.getI1Type()}, e.lanes, false);
  Value a = function.getArgument(0), panel = function.getArgument(1);
  Value offsets = function.getArgument(2), steps = function.getArgument(3);
  Value acc = function.getArgument(4), accumulate = function.getArgument(5);
  const int64_t count = kernel.rows() * kernel.vectors;

  SmallVector<Value> init = initialAccumulators(e, accumulate, acc, count);
  auto loop = scf::ForOp::create(b, loc, e.constant(0), steps, e.constant(1), init);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value row = e.at(a, kernel.stepA ? e.mul(k, kernel.stepA) : e.loadInteger(offsets, k));
    Value step = e.at(panel, e.mul(k, kernel.vectors * e.lanes));
    SmallVector<Value> columns, next;
    for (int64_t v = 0; v < kernel.vectors; ++v)
      columns.push_back(e.load(e.at(step, v * e.lanes), /*aligned=*/true));
    for (int64_t m = 0; m < kernel.rows(); ++m) {
      Value factor = e.splat(e.loadScalar(e.at(row, kernel.rowOffsets[m])));
      for (int64_t v = 0; v < kernel.vectors; ++v)
        next.push_back(vector::FMAOp::create(b, loc, factor, columns[v],
                                             loop.getRegionIterArg(m * kernel.vectors + v)));
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (int64_t i = 0; i < count; ++i)
    e.store(loop.getResult(i), e.at(acc, i * e.lanes), /*aligned=*/true);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return function;
}

Value dlc::codegen::emitTable(PackEmitter &e, ModuleOp module, StringRef name,
                              ArrayRef<int32_t> values) {
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(e.b.getI32Type(), values.size());
    LLVM::GlobalOp::create(e.b, e.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           e.b.getI32TensorAttr(values), /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(e.b, e.loc, e.pointerType(), name);
}
