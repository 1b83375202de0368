//===- AttentionBackward.cpp - dq, dk and dv, see Attention.h ---------------------------------===//
//
//   p = exp(s - lse)    ds = scale * p * (do v^T * kept - delta)
//   dv = (p * kept)^T do    dk = ds^T q    dq = ds k
//
// A block of p and one of ds are made tile by tile, and multiplied from memory as they lie: by
// columns for dv and dk, by rows for dq.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Attention/Attention.h"
#include "dialects/DL/Ops/DLAttentionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct BackwardRooms : ScratchRooms {
  int64_t turning, queries, outputs;   ///< rows of q and do
  int64_t queryPanels, outputPanels;   ///< their panels of columns
  int64_t keys, values, keyPanels;     ///< k and v turned, and panels of k
  int64_t scores, products;            ///< tiles of q k^T and do v^T
  int64_t probabilities, gradients;    ///< blocks of p * kept and ds
  int64_t ofQueries, ofKeys, ofValues; ///< tiles of dq, dk and dv

  explicit BackwardRooms(const AttentionPlan &p)
      : turning(take(p.lanes * p.lanes)), queries(take(p.schedule.queryBlock * p.pitch())),
        outputs(take(p.schedule.queryBlock * p.pitch())),
        queryPanels(take(p.depthPanels() * p.schedule.queryBlock * p.columns())),
        outputPanels(take(p.widthPanels() * p.schedule.queryBlock * p.columns())),
        keys(take(p.schedule.keyBlock * p.form.depth)),
        values(take(p.schedule.keyBlock * p.form.width)),
        keyPanels(take(p.depthPanels() * p.schedule.keyBlock * p.columns())),
        scores(take(p.keyPanels() * p.tileElements())),
        products(take(p.keyPanels() * p.tileElements())), probabilities(take(block(p))),
        gradients(take(block(p))),
        ofQueries(take((p.schedule.split ? 1 : p.queryBlocks()) * p.queryTiles() * p.depthPanels() *
                       p.tileElements())),
        ofKeys(take(p.keyTiles() * p.depthPanels() * p.tileElements())),
        ofValues(take(p.keyTiles() * p.widthPanels() * p.tileElements())) {}

  /// The last tile of keys may hang over the last row.
  static int64_t block(const AttentionPlan &p) {
    return p.schedule.queryBlock * p.schedule.keyBlock + p.schedule.rows;
  }
};

/// What a phase computes, and what its tasks are: heads, blocks of keys, blocks of queries.
enum class Part { All, Keys, Queries };

struct Products {
  LLVM::LLVMFuncOp ofScores, byRows, byColumns;
};

class BackwardPhase : public AttentionPhase {
public:
  BackwardPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
                const AttentionPlan &plan, Part part)
      : AttentionPhase(spec, target, module, name, plan), rooms(plan), part(part),
        backward(cast<dl::AttentionBackwardOp>(spec.anchorOp())) {}

  void compute(const Products &products);

private:
  bool makesKeys() const { return part != Part::Queries; }
  bool makesQueries() const { return part != Part::Keys; }
  void decode();
  void blockOfKeys(const Products &products, Value key);
  void blockOfScores(const Products &products, Value key, Value query);
  void row(Value query, Value key, Value row, Value tileRow);
  void addToKeys(const Products &products, Value rows);
  void storeRows(unsigned result, int64_t accumulators, Value first, Value count, int64_t rows,
                 int64_t columns);

  BackwardRooms rooms;
  Part part;
  dl::AttentionBackwardOp backward;
  Source q, k, v, dout;
  Value head, keyBegin, keyEnd, queryBegin, queryEnd;
};

} // namespace

uint64_t codegen::attentionBackwardScratch(const AttentionPlan &plan) {
  return 4 * BackwardRooms(plan).elements;
}

void BackwardPhase::decode() {
  head = kernel.task;
  keyBegin = queryBegin = e.constant(0);
  keyEnd = e.constant(form.keys);
  queryEnd = e.constant(form.queries);
  auto take = [&](int64_t blocks, int64_t size, Value &begin, Value &end) {
    begin = e.mul(e.rem(kernel.task, blocks), size);
    end = e.minimum(e.add(begin, size), end);
    head = e.div(kernel.task, blocks);
  };
  if (part == Part::Keys)
    take(plan.keyBlocks(), schedule.keyBlock, keyBegin, keyEnd);
  if (part == Part::Queries)
    take(plan.queryBlocks(), schedule.queryBlock, queryBegin, queryEnd);
  if (part == Part::Queries && form.causal)
    keyEnd = e.minimum(keyEnd, queryEnd);
}

void BackwardPhase::compute(const Products &products) {
  decode();
  tileBuffer = room(rooms.turning);
  q = sourceOf(form.q, form.queries, form.depth);
  k = sourceOf(form.k, form.keys, form.depth);
  v = sourceOf(form.v, form.keys, form.width);
  dout = sourceOf(backward.getDout(), form.queries, form.width);
  const int64_t tiles = (part == Part::Queries ? 1 : plan.queryBlocks()) * plan.queryTiles();
  if (makesQueries())
    clear(room(rooms.ofQueries), tiles * plan.depthPanels() * plan.tileElements());
  e.loop(keyBegin, keyEnd, schedule.keyBlock, [&](Value key) { blockOfKeys(products, key); });
  if (auto result = wantedResult(0); result && makesQueries())
    storeRows(*result, rooms.ofQueries, queryBegin, e.sub(queryEnd, queryBegin), form.queries,
              form.depth);
}

void BackwardPhase::blockOfKeys(const Products &products, Value key) {
  Value count = e.minimum(e.constant(schedule.keyBlock), e.sub(e.constant(form.keys), key));
  packTurned(k, head, key, form.depth, room(rooms.keys));
  packTurned(v, head, key, form.width, room(rooms.values));
  if (makesQueries())
    packPanels(k, head, key, count, form.depth, schedule.keyBlock * plan.columns(),
               room(rooms.keyPanels));
  if (makesKeys()) {
    const int64_t tile = plan.keyTiles() * plan.tileElements();
    clear(room(rooms.ofKeys), plan.depthPanels() * tile);
    clear(room(rooms.ofValues), plan.widthPanels() * tile);
  }
  Value begin = queryBegin;
  // Queries before the first key see none of the block.
  if (form.causal && makesKeys())
    begin = e.mul(e.div(key, schedule.queryBlock), schedule.queryBlock);
  e.loop(begin, queryEnd, schedule.queryBlock,
         [&](Value query) { blockOfScores(products, key, query); });
  if (!makesKeys())
    return;
  if (std::optional<unsigned> result = wantedResult(1))
    storeRows(*result, rooms.ofKeys, key, count, form.keys, form.depth);
  if (std::optional<unsigned> result = wantedResult(2))
    storeRows(*result, rooms.ofValues, key, count, form.keys, form.width);
}

void BackwardPhase::blockOfScores(const Products &products, Value key, Value query) {
  Value count = e.minimum(e.constant(schedule.queryBlock), e.sub(queryEnd, query));
  packRows(q, head, query, count, form.depth, room(rooms.queries));
  packRows(dout, head, query, count, form.width, room(rooms.outputs));
  if (makesKeys()) {
    const int64_t distance = schedule.queryBlock * plan.columns();
    packPanels(q, head, query, count, form.depth, distance, room(rooms.queryPanels));
    packPanels(dout, head, query, count, form.width, distance, room(rooms.outputPanels));
  }
  Value keys = e.minimum(e.constant(schedule.keyBlock), e.sub(e.constant(form.keys), key));
  Value tiles = e.div(e.add(count, schedule.rows - 1), schedule.rows);
  e.loop(e.constant(0), tiles, 1, [&](Value tile) {
    Value firstRow = e.mul(tile, schedule.rows), place = e.mul(firstRow, plan.pitch());
    scoresOf(products.ofScores, e.at(room(rooms.queries), place), room(rooms.keys), form.depth,
             room(rooms.scores));
    scoresOf(products.ofScores, e.at(room(rooms.outputs), place), room(rooms.values), form.width,
             room(rooms.products));
    Value rows = e.minimum(e.constant(schedule.rows), e.sub(count, firstRow));
    e.loop(e.constant(0), rows, 1, [&](Value r) { row(query, key, e.add(firstRow, r), r); });
    if (!makesQueries())
      return;
    Value slot = e.add(e.div(e.sub(query, queryBegin), schedule.rows), tile);
    e.loop(e.constant(0), e.constant(plan.depthPanels()), 1, [&](Value panel) {
      Value at = e.add(e.mul(slot, plan.depthPanels()), panel);
      product(products.byRows, e.at(room(rooms.gradients), e.mul(firstRow, schedule.keyBlock)),
              e.at(room(rooms.keyPanels), e.mul(panel, schedule.keyBlock * plan.columns())), keys,
              e.at(room(rooms.ofQueries), e.mul(at, plan.tileElements())), /*accumulate=*/true);
    });
  });
  if (makesKeys())
    addToKeys(products, count);
}

/// Row `row` of the blocks of p and ds, row `tileRow` of the tiles.
void BackwardPhase::row(Value query, Value key, Value row, Value tileRow) {
  Row scores = rowOf(head, e.add(query, row), key);
  Value ofRow = e.add(e.mul(head, form.queries), scores.query);
  Point point;
  point.shape = {form.heads * form.queries};
  point.indices = {ofRow};
  auto number = [&](Value rows) { return splat(kernel.body().emit(rows, point)); };
  Value lse = number(backward.getLse()), delta = number(backward.getDelta());
  Value begin = e.mul(row, schedule.keyBlock);
  auto subtract = [&](Value a, Value b) -> Value {
    return arith::SubFOp::create(e.b, e.loc, a, b);
  };
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(e.b, e.loc, a, b);
  };
  alongRow(tileRow, {}, [&](Value number, Value place, ValueRange) {
    Value score = finishScores(scores, number, e.loadAligned(e.at(room(rooms.scores), place)));
    Value p = math::ExpOp::create(e.b, e.loc, subtract(score, lse));
    Value dp = keep(scores, number, e.loadAligned(e.at(room(rooms.products), place)));
    Value ds = multiply(multiply(p, subtract(dp, delta)), e.number(form.scale, e.vectorType()));
    Value to = e.add(begin, number);
    e.storeAligned(keep(scores, number, p), e.at(room(rooms.probabilities), to));
    e.storeAligned(ds, e.at(room(rooms.gradients), to));
    return SmallVector<Value>();
  });
}

/// dv += (p * kept)^T do, dk += ds^T q, over `rows` queries.
void BackwardPhase::addToKeys(const Products &products, Value rows) {
  auto add = [&](int64_t block, int64_t panelsOf, int64_t panels, int64_t accumulators) {
    e.loop(e.constant(0), e.constant(plan.keyTiles()), 1, [&](Value tile) {
      e.loop(e.constant(0), e.constant(panels), 1, [&](Value panel) {
        Value slot = e.add(e.mul(tile, panels), panel);
        product(products.byColumns, e.at(room(block), e.mul(tile, schedule.rows)),
                e.at(room(panelsOf), e.mul(panel, schedule.queryBlock * plan.columns())), rows,
                e.at(room(accumulators), e.mul(slot, plan.tileElements())), /*accumulate=*/true);
      });
    });
  };
  add(rooms.probabilities, rooms.outputPanels, plan.widthPanels(), rooms.ofValues);
  add(rooms.gradients, rooms.queryPanels, plan.depthPanels(), rooms.ofKeys);
}

/// Stores `count` rows from `first` on.
void BackwardPhase::storeRows(unsigned result, int64_t accumulators, Value first, Value count,
                              int64_t rows, int64_t columns) {
  e.loop(e.constant(0), count, 1, [&](Value row) {
    storeTileRow(result, accumulators, row, {head, e.add(first, row)}, rows, columns,
                 [](Value vector) { return vector; });
  });
}

LogicalResult codegen::emitAttentionBackward(const KernelSpec &spec, const Candidate &candidate,
                                             const CpuTarget &target, StringRef symbol,
                                             ModuleOp module, const AttentionPlan &plan) {
  const AttentionSchedule &schedule = plan.schedule;
  Products products{attentionProduct(module, target, Element::of(spec), schedule, plan.pitch(),
                                     false, "scores_product"),
                    attentionProduct(module, target, Element::of(spec), schedule, schedule.keyBlock,
                                     false, "rows_product"),
                    attentionProduct(module, target, Element::of(spec), schedule, schedule.keyBlock,
                                     true, "columns_product")};
  SmallVector<Part> parts{Part::All};
  if (schedule.split)
    parts = {Part::Keys, Part::Queries};
  for (auto [number, part] : llvm::enumerate(parts)) {
    BackwardPhase phase(spec, target, module, phaseSymbol(symbol, candidate, number), plan, part);
    phase.compute(products);
    if (failed(phase.finish()))
      return failure();
  }
  return success();
}
