//===- AttentionPhase.cpp - packing, tiles and rows of scores, see Attention.h ----------------===//
#include "codegen/CPU/Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

Source AttentionPhase::sourceOf(Value tensor, int64_t rows, int64_t columns) {
  OperandRange operands = kernel.spec.anchorOp()->getOperands();
  return source(llvm::find(operands, tensor) - operands.begin(),
                IndexMap::identity({form.heads, rows, columns}));
}

LLVM::LLVMFuncOp codegen::attentionProduct(ModuleOp module, const CpuTarget &target,
                                           Element element, const AttentionSchedule &schedule,
                                           int64_t pitch, bool turned, StringRef name) {
  MicroTile micro;
  for (int64_t row = 0; row < schedule.rows; ++row)
    micro.rowOffsets.push_back(turned ? row : row * pitch);
  micro.vectors = schedule.vectors;
  micro.stepA = turned ? pitch : 1;
  return fmaKernel().emit(module, target, element, micro, name);
}

//===------------------------------------------------------------------------------------------===//
// Packing
//===------------------------------------------------------------------------------------------===//

void AttentionPhase::packRows(const Source &source, Value head, Value first, Value count,
                              int64_t columns, Value target) {
  e.loop(e.constant(0), e.constant(columns), e.lanes, [&](Value lane) {
    pack(source, {}, {head, first, lane}, /*along=*/2, /*lanesContiguous=*/true,
         e.sub(e.constant(columns), lane), count, plan.pitch(), e.at(target, lane));
  });
}

void AttentionPhase::packPanels(const Source &source, Value head, Value first, Value count,
                                int64_t columns, int64_t distance, Value target) {
  const int64_t panel = plan.columns();
  e.loop(e.constant(0), e.constant(ceilDiv(columns, panel)), 1, [&](Value number) {
    Value begin = e.mul(number, panel), to = e.at(target, e.mul(number, distance));
    e.loop(e.constant(0), e.constant(panel), e.lanes, [&](Value lane) {
      Value column = e.add(begin, lane);
      pack(source, {}, {head, first, column}, /*along=*/2, /*lanesContiguous=*/true,
           e.sub(e.constant(columns), column), count, panel, e.at(to, lane));
    });
  });
}

void AttentionPhase::packTurned(const Source &source, Value head, Value first, int64_t columns,
                                Value target) {
  const int64_t panel = plan.columns();
  e.loop(e.constant(0), e.constant(plan.keyPanels()), 1, [&](Value number) {
    Value to = e.at(target, e.mul(number, columns * panel));
    e.loop(e.constant(0), e.constant(panel), e.lanes, [&](Value lane) {
      Value key = e.add(first, e.add(e.mul(number, panel), lane));
      pack(source, {}, {head, key, e.constant(0)}, /*along=*/1, /*lanesContiguous=*/false,
           e.sub(e.constant(form.keys), key), e.constant(columns), panel, e.at(to, lane));
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

void AttentionPhase::product(LLVM::LLVMFuncOp micro, Value rows, Value panel, Value steps,
                             Value acc, bool accumulate) {
  Value noOffsets = LLVM::ZeroOp::create(e.b, e.loc, e.pointerType());
  LLVM::CallOp::create(
      e.b, e.loc, micro,
      ValueRange{rows, panel, noOffsets, steps, acc, e.number(accumulate, e.b.getI1Type())});
}

void AttentionPhase::scoresOf(LLVM::LLVMFuncOp micro, Value rows, Value turned, int64_t depth,
                              Value scores) {
  e.loop(e.constant(0), e.constant(plan.keyPanels()), 1, [&](Value panel) {
    product(micro, rows, e.at(turned, e.mul(panel, depth * plan.columns())), e.constant(depth),
            e.at(scores, e.mul(panel, plan.tileElements())), /*accumulate=*/false);
  });
}

void AttentionPhase::clear(Value room, int64_t elements) {
  e.loop(e.constant(0), e.constant(elements), e.lanes,
         [&](Value place) { e.storeAligned(e.zeroVector(), e.at(room, place)); });
}

//===------------------------------------------------------------------------------------------===//
// Rows
//===------------------------------------------------------------------------------------------===//

AttentionPhase::Row AttentionPhase::rowOf(Value head, Value query, Value key) {
  Value seen = e.sub(e.constant(form.keys), key);
  if (form.causal)
    seen = e.minimum(seen, e.sub(e.add(query, 1), key));
  return {head, query, key, seen};
}

SmallVector<Value> AttentionPhase::alongRow(Value row, ValueRange init, RowBody body) {
  const int64_t columns = plan.columns();
  auto panel = [&](Value number, ValueRange carried) {
    Value first = e.mul(number, columns);
    Value corner = e.add(e.mul(number, plan.tileElements()), e.mul(row, columns));
    return e.carry(e.constant(0), e.constant(columns), e.lanes, carried,
                   [&](Value lane, ValueRange carried) {
                     return body(e.add(first, lane), e.add(corner, lane), carried);
                   });
  };
  return e.carry(e.constant(0), e.constant(plan.keyPanels()), 1, init, panel);
}

/// `tensor` [heads, queries, keys] at a vector of scores.
Value AttentionPhase::scoreVector(Value tensor, const Row &row, Value number) {
  Point point;
  point.shape = {form.heads, form.queries, form.keys};
  point.indices = {row.head, row.query, e.add(row.key, number)};
  point.axis = 2;
  point.width = e.lanes;
  point.mask = e.lanesBelow(e.sub(e.sub(e.constant(form.keys), row.key), number));
  return kernel.body().emitVector(tensor, point);
}

Value AttentionPhase::finishScores(const Row &row, Value number, Value raw) {
  Value hidden = e.number(-std::numeric_limits<double>::infinity(), e.vectorType());
  Value scores = arith::MulFOp::create(e.b, e.loc, raw, e.number(form.scale, e.vectorType()));
  if (form.mask) {
    Value mask = scoreVector(form.mask, row, number);
    if (getElementTypeOrSelf(mask).isInteger(1))
      scores = e.blend(mask, scores, hidden);
    else
      scores = arith::AddFOp::create(e.b, e.loc, scores, mask);
  }
  return e.blend(e.lanesBelow(e.sub(row.seen, number)), scores, hidden);
}

Value AttentionPhase::keep(const Row &row, Value number, Value values) {
  if (!form.kept)
    return values;
  Value scaled =
      arith::MulFOp::create(e.b, e.loc, values, e.number(form.keptFactor, e.vectorType()));
  return e.blend(scoreVector(form.kept, row, number), scaled, e.zeroVector());
}

//===------------------------------------------------------------------------------------------===//
// Results
//===------------------------------------------------------------------------------------------===//

std::optional<unsigned> AttentionPhase::wantedResult(unsigned number) {
  Value wanted = kernel.spec.anchorOp()->getResult(number);
  for (unsigned i = 0; i < kernel.spec.resultTypes().size(); ++i)
    if (kernel.spec.result(i) == wanted)
      return i;
  return std::nullopt;
}

void AttentionPhase::storeTileRow(unsigned result, int64_t tiles, Value row, ArrayRef<Value> place,
                                  int64_t rows, int64_t columns,
                                  llvm::function_ref<Value(Value)> finished) {
  const int64_t width = plan.columns(), panels = ceilDiv(columns, width);
  Value tile = e.div(row, schedule.rows), inner = e.rem(row, schedule.rows);
  e.loop(e.constant(0), e.constant(columns), e.lanes, [&](Value column) {
    Value panel = e.div(column, width), lane = e.rem(column, width);
    Value corner = e.mul(e.add(e.mul(tile, panels), panel), plan.tileElements());
    Value from = e.add(corner, e.add(e.mul(inner, width), lane));
    Point point;
    point.shape = {form.heads, rows, columns};
    point.indices = {place[0], place[1], column};
    point.axis = 2;
    point.width = e.lanes;
    point.mask = e.lanesBelow(e.sub(e.constant(columns), column));
    kernel.store(finished(e.loadAligned(e.at(room(tiles), from))), kernel.result(result),
                 kernel.spec.resultTypes()[result], point);
  });
}
