//===- BroadcastKernel.cpp - see BroadcastKernel.h --------------------------------------------===//
#include "codegen/CPU/Gemm/BroadcastKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
/// The pieces of the function while it is built.
struct StepBuilder {
  PackEmitter &e;
  const BroadcastKernel &kernel;
  const MicroTile &tile;
  Value a, panel, offsets;
  ValueRange later;

  SmallVector<Value> step(Value k, ValueRange accumulators);
  SmallVector<Value> multiplyComplex(Value row, ValueRange columns, ValueRange accumulators);
  SmallVector<Value> reduce(Value steps);
};
} // namespace

/// One step of a complex sum: (a + bi)(c + di) = (ac - bd) + (ad + bc) i.
SmallVector<Value> StepBuilder::multiplyComplex(Value row, ValueRange columns,
                                                ValueRange accumulators) {
  SmallVector<Value> sums = llvm::to_vector(accumulators);
  auto multiplyAdd = [&](Value factor, Value column, Value &sum) {
    sum = kernel.multiplyAdd(e, factor, column, sum);
  };
  for (int64_t m = 0; m < tile.rows(); ++m) {
    Value real = kernel.broadcast(e, row, tile.rowOffsets[m]);
    for (int64_t v = 0; v < tile.vectors; ++v)
      multiplyAdd(real, columns[v], sums[m * tile.vectors + v]);
  }
  for (int64_t m = 0; m < tile.rows(); ++m) {
    Value imaginary = kernel.broadcast(e, row, tile.rowOffsets[m] + tile.imaginary);
    for (int64_t v = 0; v < tile.vectors; v += 2) {
      Value *sum = &sums[m * tile.vectors + v];
      multiplyAdd(imaginary, arith::NegFOp::create(e.b, e.loc, columns[v + 1]), sum[0]);
      multiplyAdd(imaginary, columns[v], sum[1]);
    }
  }
  return sums;
}

/// One step of the sum.
SmallVector<Value> StepBuilder::step(Value k, ValueRange accumulators) {
  Value entry = e.mul(k, tile.entries());
  Value row = e.at(a, tile.stepA ? e.mul(k, tile.stepA) : e.entry(offsets, entry));
  const bool packed = tile.columnOffsets.empty();
  Value place = e.at(panel, e.mul(k, packed ? tile.vectors * e.lanes : tile.stepB));
  SmallVector<Value> columns, next;
  // Steps: covers the latency of L2. One row takes panels as fast as memory brings them, and blocks
  // of channels are long streams, which the processor does best by itself.
  const int64_t ahead = tile.rows() > 1 && packed ? 8 : 0;
  for (int64_t line = 0; ahead && line < tile.vectors * e.lanes; line += e.element.line())
    e.prefetch(e.at(place, ahead * tile.vectors * e.lanes + line), /*forWriting=*/false);
  for (int64_t line = 0; line < tile.laterLines; ++line) {
    Value laterPlace = tile.laterOffsets
                           ? e.entry(offsets, e.add(entry, tile.entriesOfA() + line))
                           : e.mul(e.add(e.mul(k, tile.laterLines), line), e.element.line());
    for (Value argument : later)
      e.prefetch(e.at(argument, laterPlace), /*forWriting=*/false, /*locality=*/2);
  }
  for (int64_t v = 0; v < tile.vectors; ++v)
    columns.push_back(kernel.column(e, e.at(place, packed ? v * e.lanes : tile.columnOffsets[v])));
  if (tile.imaginary)
    return multiplyComplex(row, columns, accumulators);
  for (int64_t m = 0; m < tile.rows(); ++m) {
    Value factor = kernel.broadcast(e, row, tile.rowOffsets[m]);
    for (int64_t v = 0; v < tile.vectors; ++v)
      next.push_back(kernel.multiplyAdd(e, factor, columns[v], accumulators[m * tile.vectors + v]));
  }
  return next;
}

/// All steps, two at a time: loop overhead would take issue slots from the multiplications.
SmallVector<Value> StepBuilder::reduce(Value steps) {
  SmallVector<Value> zeros(tile.rows() * tile.vectors, e.zeroVector());
  Value pairs = e.mul(e.div(steps, 2), 2);
  auto loop = scf::ForOp::create(e.b, e.loc, e.constant(0), pairs, e.constant(2), zeros);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> first = step(loop.getInductionVar(), loop.getRegionIterArgs());
  // Keeps the second step's loads where they are: hoisted over the first, they would spill
  // accumulators.
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

int64_t BroadcastKernel::mostRows(const MachineModel &machine, int64_t vectors) const {
  // With a step's vectors and one broadcast.
  return std::max<int64_t>(1, (machine.vectorRegisters - vectors - 1) / vectors);
}

/// The narrowest of ports of the instruction, load ports, issue and latency.
double BroadcastKernel::cycles(const MachineModel &m, int64_t rows, int64_t vectors) const {
  // Prefetch of each vector; half of a count, a branch and the load of an offset.
  const double overhead = double(vectors) + 1.5;
  double instructions = double(rows * vectors), loads = double(rows + vectors);
  return std::max({instructions / perCycle(m), loads / m.loadsPerCycle,
                   (instructions + loads + overhead) / m.issuesPerCycle, latency(m)});
}

LLVM::LLVMFuncOp BroadcastKernel::emit(ModuleOp module, const CpuTarget &target, Element element,
                                       const MicroTile &tile, StringRef name) const {
  OpBuilder b(module.getContext());
  PackEmitter e(b, module.getLoc(), module, target, element);
  Type p = e.pointerType();
  SmallVector<Type> parameters = {p, p, p, b.getI64Type(), p, b.getI1Type()};
  const size_t targets = tile.targetOffsets.empty() ? 0 : tile.vectors;
  parameters.append(targets, p);
  if (tile.laterLines)
    parameters.append(tile.laterArguments, p);
  auto function = createFunction(b, e.loc, module, target, name, parameters, /*exported=*/false);
  Value acc = function.getArgument(4), accumulate = function.getArgument(5);
  const int64_t count = tile.rows() * tile.vectors;
  auto place = [&](int64_t i) { return e.at(acc, i * e.lanes); };
  // What the sums are added to arrives while they are made.
  for (int64_t i = 0; !tile.nearAccumulators && i < count * e.lanes; i += e.element.line())
    e.prefetch(e.at(acc, i), /*forWriting=*/true);
  StepBuilder builder{e,
                      *this,
                      tile,
                      function.getArgument(0),
                      function.getArgument(1),
                      function.getArgument(2),
                      function.getArguments().drop_front(6 + targets)};
  SmallVector<Value> sums = builder.reduce(function.getArgument(3));
  auto storeAll = [&](llvm::function_ref<Value(int64_t i)> sum) {
    auto toAccumulators = [&] {
      for (int64_t i = 0; i < count; ++i)
        e.storeAligned(sum(i), place(i));
    };
    if (targets == 0)
      return toAccumulators();
    Value ends = LLVM::ICmpOp::create(b, e.loc, LLVM::ICmpPredicate::ne, function.getArgument(6),
                                      LLVM::ZeroOp::create(b, e.loc, p));
    e.branch(
        ends,
        [&] {
          for (int64_t i = 0; i < count; ++i)
            e.storeVector(e.convertFloat(sum(i), e.element.stored),
                          function.getArgument(6 + i % tile.vectors),
                          e.constant(tile.targetOffsets[i / tile.vectors]));
        },
        toAccumulators);
  };
  e.branch(
      accumulate,
      [&] {
        storeAll([&](int64_t i) {
          return arith::AddFOp::create(b, e.loc, sums[i], e.loadAligned(place(i)));
        });
      },
      [&] { storeAll([&](int64_t i) { return sums[i]; }); });
  LLVM::ReturnOp::create(b, e.loc, ValueRange());
  return function;
}
