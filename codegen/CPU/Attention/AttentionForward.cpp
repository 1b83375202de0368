//===- AttentionForward.cpp - o and lse, see Attention.h --------------------------------------===//
#include "codegen/CPU/Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// No score is as low: what a row's largest score begins with, so that one that sees nothing has a
/// number.
static constexpr double lowestScore = -1e30;

namespace {

struct ForwardRooms : ScratchRooms {
  int64_t turning, queries, keys, values, scores, probabilities, outputs, largest, sums;

  explicit ForwardRooms(const AttentionPlan &p)
      : turning(take(p.lanes * p.lanes)), queries(take(p.schedule.queryBlock * p.pitch())),
        keys(take(p.schedule.keyBlock * p.form.depth)),
        values(take(p.widthPanels() * p.schedule.keyBlock * p.columns())),
        scores(take(p.keyPanels() * p.tileElements())),
        probabilities(take(p.schedule.rows * p.schedule.keyBlock)),
        outputs(take(p.queryTiles() * p.widthPanels() * p.tileElements())),
        largest(take(p.schedule.queryBlock)), sums(take(p.schedule.queryBlock)) {}
};

/// A task is a block of queries of a head.
class ForwardPhase : public AttentionPhase {
public:
  ForwardPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
               const AttentionPlan &plan)
      : AttentionPhase(spec, target, module, name, plan), rooms(plan) {}

  void compute(LLVM::LLVMFuncOp ofScores, LLVM::LLVMFuncOp ofValues);

private:
  void begin();
  void tileOfRows(Value key, Value tile);
  void scaleOutputs(Value tile, Value row, Value factor);
  void storeRows();

  ForwardRooms rooms;
  Value head, first, count; ///< the task's queries
};

} // namespace

uint64_t codegen::attentionScratch(const AttentionPlan &plan) {
  return 4 * ForwardRooms(plan).elements;
}

void ForwardPhase::begin() {
  Value block = e.rem(kernel.task, plan.queryBlocks());
  head = e.div(kernel.task, plan.queryBlocks());
  first = e.mul(block, schedule.queryBlock);
  count = e.minimum(e.constant(schedule.queryBlock), e.sub(e.constant(form.queries), first));
  tileBuffer = room(rooms.turning);
  packRows(sourceOf(form.q, form.queries, form.depth), head, first, count, form.depth,
           room(rooms.queries));
  clear(room(rooms.outputs), plan.queryTiles() * plan.widthPanels() * plan.tileElements());
  e.loop(e.constant(0), count, 1, [&](Value row) {
    e.store(e.number(lowestScore, e.floatType()), room(rooms.largest), row);
    e.store(e.number(0, e.floatType()), room(rooms.sums), row);
  });
}

void ForwardPhase::compute(LLVM::LLVMFuncOp ofScores, LLVM::LLVMFuncOp ofValues) {
  begin();
  Source k = sourceOf(form.k, form.keys, form.depth), v = sourceOf(form.v, form.keys, form.width);
  Value end = e.constant(form.keys);
  if (form.causal)
    end = e.minimum(end, e.add(first, count));
  const int64_t valuePanel = schedule.keyBlock * plan.columns();
  e.loop(e.constant(0), end, schedule.keyBlock, [&](Value key) {
    Value keys = e.minimum(e.constant(schedule.keyBlock), e.sub(e.constant(form.keys), key));
    packTurned(k, head, key, form.depth, room(rooms.keys));
    packPanels(v, head, key, keys, form.width, valuePanel, room(rooms.values));
    Value tiles = e.div(e.add(count, schedule.rows - 1), schedule.rows);
    e.loop(e.constant(0), tiles, 1, [&](Value tile) {
      auto run = [&] {
        Value rows = e.at(room(rooms.queries), e.mul(tile, schedule.rows * plan.pitch()));
        scoresOf(ofScores, rows, room(rooms.keys), form.depth, room(rooms.scores));
        tileOfRows(key, tile);
        e.loop(e.constant(0), e.constant(plan.widthPanels()), 1, [&](Value panel) {
          Value slot = e.add(e.mul(tile, plan.widthPanels()), panel);
          product(ofValues, room(rooms.probabilities),
                  e.at(room(rooms.values), e.mul(panel, valuePanel)), keys,
                  e.at(room(rooms.outputs), e.mul(slot, plan.tileElements())),
                  /*accumulate=*/true);
        });
      };
      if (!form.causal)
        return run();
      Value behind = e.add(first, e.mul(e.add(tile, 1), schedule.rows));
      e.when(e.less(key, behind), run);
    });
  });
  storeRows();
}

/// Scores of a tile to probabilities that are right up to each row's factor, which is applied to
/// what the row has accumulated.
void ForwardPhase::tileOfRows(Value key, Value tile) {
  Value firstRow = e.mul(tile, schedule.rows);
  Value rows = e.minimum(e.constant(schedule.rows), e.sub(count, firstRow));
  e.loop(e.constant(0), rows, 1, [&](Value r) {
    Value row = e.add(firstRow, r),
          finished = e.at(room(rooms.probabilities), e.mul(r, schedule.keyBlock));
    Row scores = rowOf(head, e.add(first, row), key);
    auto maximum = [&](Value a, Value b) -> Value {
      return arith::MaximumFOp::create(e.b, e.loc, a, b);
    };
    auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(e.b, e.loc, a, b); };
    Value before = element(room(rooms.largest), row);
    Value largest = alongRow(r, splat(before), [&](Value number, Value place, ValueRange carried) {
      Value raw = e.loadAligned(e.at(room(rooms.scores), place));
      Value score = finishScores(scores, number, raw);
      e.storeAligned(score, e.at(finished, number));
      return SmallVector<Value>{maximum(carried[0], score)};
    })[0];
    largest = e.reduceLanes(largest, maximum);
    Value largestOfAll = splat(largest);
    Value sum = alongRow(r, e.zeroVector(), [&](Value number, Value, ValueRange carried) {
      Value below =
          arith::SubFOp::create(e.b, e.loc, e.loadAligned(e.at(finished, number)), largestOfAll);
      Value p = math::ExpOp::create(e.b, e.loc, below);
      e.storeAligned(keep(scores, number, p), e.at(finished, number));
      return SmallVector<Value>{add(carried[0], p)};
    })[0];
    Value factor =
        math::ExpOp::create(e.b, e.loc, arith::SubFOp::create(e.b, e.loc, before, largest));
    Value old = arith::MulFOp::create(e.b, e.loc, element(room(rooms.sums), row), factor);
    e.store(add(old, e.reduceLanes(sum, add)), room(rooms.sums), row);
    e.store(largest, room(rooms.largest), row);
    scaleOutputs(tile, r, splat(factor));
  });
}

void ForwardPhase::scaleOutputs(Value tile, Value row, Value factor) {
  e.loop(e.constant(0), e.constant(plan.widthPanels()), 1, [&](Value panel) {
    Value slot = e.add(e.mul(tile, plan.widthPanels()), panel);
    Value corner = e.add(e.mul(slot, plan.tileElements()), e.mul(row, plan.columns()));
    e.loop(e.constant(0), e.constant(plan.columns()), e.lanes, [&](Value lane) {
      Value place = e.at(room(rooms.outputs), e.add(corner, lane));
      e.storeAligned(arith::MulFOp::create(e.b, e.loc, e.loadAligned(place), factor), place);
    });
  });
}

void ForwardPhase::storeRows() {
  e.loop(e.constant(0), count, 1, [&](Value row) {
    Value sum = element(room(rooms.sums), row), largest = element(room(rooms.largest), row);
    Value zero = e.number(0, e.floatType()), one = e.number(1, e.floatType());
    // Of a row that sees nothing the sum is 0, and what it has accumulated.
    Value none = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, sum, zero);
    sum = e.select(none, one, sum);
    Value query = e.add(first, row);
    if (std::optional<unsigned> lse = wantedResult(1)) {
      Value log = arith::AddFOp::create(e.b, e.loc, largest, math::LogOp::create(e.b, e.loc, sum));
      e.store(log, kernel.result(*lse), e.add(e.mul(head, form.queries), query));
    }
    std::optional<unsigned> o = wantedResult(0);
    if (!o)
      return;
    Value factor = splat(arith::DivFOp::create(e.b, e.loc, one, sum));
    storeTileRow(*o, rooms.outputs, row, {head, query}, form.queries, form.width,
                 [&](Value vector) { return arith::MulFOp::create(e.b, e.loc, vector, factor); });
  });
}

LogicalResult codegen::emitAttention(const KernelSpec &spec, const CpuTarget &target,
                                     StringRef symbol, ModuleOp module, const AttentionPlan &plan) {
  auto ofScores = attentionProduct(module, target, Element::of(spec), plan.schedule, plan.pitch(),
                                   /*turned=*/false, "scores_product");
  auto ofValues =
      attentionProduct(module, target, Element::of(spec), plan.schedule, plan.schedule.keyBlock,
                       /*turned=*/false, "values_product");
  ForwardPhase phase(spec, target, module, symbol, plan);
  phase.compute(ofScores, ofValues);
  return phase.finish();
}
