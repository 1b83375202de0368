// See MicroKernel.h.
#include "codegen/CPU/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc::codegen;

namespace {
/// The pieces of the function while it is built.
struct MicroKernelBuilder {
  PackEmitter &e;
  const MicroKernel &kernel;
  Value a, panel, offsets;

  SmallVector<Value> step(Value k, ValueRange accumulators);
  SmallVector<Value> reduce(Value steps);
};
} // namespace

/// One step of the sum.
SmallVector<Value> MicroKernelBuilder::step(Value k, ValueRange accumulators) {
  Value row = e.at(a, kernel.stepA ? e.mul(k, kernel.stepA) : e.loadInteger(offsets, k));
  Value place = e.at(panel, e.mul(k, kernel.vectors * e.lanes));
  SmallVector<Value> columns, next;
  const int64_t ahead = 8; // steps: covers the latency of L2
  for (int64_t v = 0; v < kernel.vectors; ++v)
    e.prefetch(e.at(place, (ahead * kernel.vectors + v) * e.lanes), /*forWriting=*/false);
  for (int64_t v = 0; v < kernel.vectors; ++v)
    columns.push_back(e.load(e.at(place, v * e.lanes), /*aligned=*/true));
  for (int64_t m = 0; m < kernel.rows(); ++m) {
    Value factor = e.splat(e.loadScalar(e.at(row, kernel.rowOffsets[m])));
    for (int64_t v = 0; v < kernel.vectors; ++v)
      next.push_back(vector::FMAOp::create(e.b, e.loc, factor, columns[v],
                                           accumulators[m * kernel.vectors + v]));
  }
  return next;
}

/// All steps, two at a time: loop overhead would take issue slots from the multiplications.
SmallVector<Value> MicroKernelBuilder::reduce(Value steps) {
  SmallVector<Value> zeros(kernel.rows() * kernel.vectors, e.zeroVector());
  Value pairs = e.mul(e.div(steps, 2), 2);
  auto loop = scf::ForOp::create(e.b, e.loc, e.constant(0), pairs, e.constant(2), zeros);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> first = step(loop.getInductionVar(), loop.getRegionIterArgs());
  // Keeps the second step's loads where they are: hoisted over the first, they would spill accumulators.
  LLVM::InlineAsmOp::create(e.b, e.loc, TypeRange(), ValueRange(), "", "~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None, nullptr, nullptr);
  scf::YieldOp::create(e.b, e.loc, step(e.add(loop.getInductionVar(), 1), first));
  e.b.setInsertionPointAfter(loop);
  auto odd = scf::IfOp::create(e.b, e.loc, loop.getResultTypes(), e.less(pairs, steps), true);
  e.b.setInsertionPointToStart(odd.thenBlock());
  scf::YieldOp::create(e.b, e.loc, step(pairs, loop.getResults()));
  e.b.setInsertionPointToStart(odd.elseBlock());
  scf::YieldOp::create(e.b, e.loc, loop.getResults());
  return llvm::to_vector_of<Value>(odd.getResults());
}

LLVM::LLVMFuncOp dlc::codegen::emitMicroKernel(OpBuilder &b, ModuleOp module, Location loc,
                                               const MachineModel &machine,
                                               const MicroKernel &kernel, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  PackEmitter e(b, loc, machine);
  Type p = e.pointerType();
  auto function = createFunction(b, module, loc, name,
                                 {p, p, p, b.getI64Type(), p, b.getI1Type()}, e.lanes, false);
  Value acc = function.getArgument(4), accumulate = function.getArgument(5);
  const int64_t count = kernel.rows() * kernel.vectors;
  auto place = [&](int64_t i) { return e.at(acc, i * e.lanes); };
  // What the sums are added to arrives while they are made.
  for (int64_t i = 0; i < count * e.lanes; i += 16)
    e.prefetch(e.at(acc, i), /*forWriting=*/true);
  MicroKernelBuilder builder{e, kernel, function.getArgument(0), function.getArgument(1),
                             function.getArgument(2)};
  SmallVector<Value> sums = builder.reduce(function.getArgument(3));
  auto branch = scf::IfOp::create(b, loc, accumulate, /*withElseRegion=*/true);
  OpBuilder after = OpBuilder::atBlockEnd(b.getBlock());
  b.setInsertionPointToStart(branch.thenBlock());
  for (int64_t i = 0; i < count; ++i)
    e.store(arith::AddFOp::create(b, loc, sums[i], e.load(place(i), /*aligned=*/true)), place(i),
            /*aligned=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  for (int64_t i = 0; i < count; ++i)
    e.store(sums[i], place(i), /*aligned=*/true);
  LLVM::ReturnOp::create(after, loc, ValueRange());
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
