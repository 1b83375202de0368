//===- MultiTensorGenerator.cpp - one element-wise function over many tensors -----------------===//
//
// The optimizer's update, norms. A launch passes one flat buffer a stream and a table of pieces,
// each a run of elements of one tensor (FlatLayout); a task takes some pieces that follow each
// other. Of values that are added up over a tensor each piece leaves a partial sum in the
// workspace, which a second phase adds in order, a task a tensor. The code knows no size: what is
// added in which order depends on the table alone, so updates of all sizes share it.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Conversion/FlatLayout.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const int64_t piecesPerTask = FlatLayout::piecesPerTask, unroll = 4;

namespace {
class MultiTensorGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-multi-tensor"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

/// The operands behind the streams, by number.
struct Operands {
  explicit Operands(dl::MultiTensorOp op)
      : streams(op.getStreams()), each(op.getEach().size()), scalars(op.getScalars().size()) {}
  int64_t streams, each, scalars;

  unsigned pieces() const { return streams + each + scalars; }
  unsigned firstPieces() const { return pieces() + 1; }
};
} // namespace

static dl::MultiTensorOp updateOf(const KernelSpec &spec) {
  return cast<dl::MultiTensorOp>(spec.anchorOp());
}

/// The f64 of each partial sum keeps what adding them in f32 would lose.
static const int64_t partialBytes = 8;

SmallVector<Candidate> MultiTensorGenerator::candidates(const KernelSpec &spec,
                                                        const CpuTarget &target) const {
  if (spec.anchor() != Anchor::MultiTensor)
    return {};
  dl::MultiTensorOp op = updateOf(spec);
  const int64_t tasks = FlatLayout(op).tasks();
  Candidate candidate;
  candidate.schedule = "multi_tensor pieces " + std::to_string(piecesPerTask);
  candidate.phases = {{uint64_t(tasks), 0}};
  if (op.getSums() != 0) {
    candidate.phases.push_back({uint64_t(op.getCount()), 0});
    candidate.workspaceBytes = tasks * piecesPerTask * op.getSums() * partialBytes;
    candidate.phases.back().sideBytes = candidate.workspaceBytes;
  }
  candidate.cost = walkSeconds(spec, double(spec.flops()), target);
  return {candidate};
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {
/// Emits one piece: loads, the body, stores, sums.
class PieceEmitter {
public:
  PieceEmitter(KernelFunction &kernel, const KernelSpec &body)
      : kernel(kernel), e(kernel.e), op(updateOf(kernel.spec)), operands(op), body(body) {
    for (int64_t i = 0; i < operands.scalars; ++i)
      scalars.push_back(loadNumber(operands.streams + operands.each + i, e.constant(0)));
  }

  void emit(Value piece);

private:
  Value loadNumber(unsigned operand, Value index) {
    return e.load(kernel.operand(operand), index,
                  kernel.spec.operandTypes()[operand].getElementType());
  }
  Value load(unsigned number, const Point &point);
  Value numbers(const Point &point);
  SmallVector<Value> step(Value place, int64_t vectors, Value mask, ValueRange sums);
  Value yielded(int64_t number) const { return body.block().back().getOperand(number); }
  int64_t sumCount() { return op.getSums(); }
  int64_t resultCount() { return op.getResultStreams(); }
  Type sumType(int64_t number) { return getElementTypeOrSelf(op.getSum(number)); }

  KernelFunction &kernel;
  CodeEmitter &e;
  dl::MultiTensorOp op;
  Operands operands;
  const KernelSpec &body; ///< the op's own block
  SmallVector<Value> scalars, each;
  Value offset;
  Value first; ///< the number of the piece's first element in its tensor
};
} // namespace

/// Argument `number` of the op's block: an element of a stream, of `each`, a scalar, or the
/// element's number.
Value PieceEmitter::load(unsigned number, const Point &point) {
  if (number == operands.pieces())
    return numbers(point);
  if (number >= operands.streams + operands.each)
    return scalars[number - operands.streams - operands.each];
  if (number >= operands.streams)
    return each[number - operands.streams];
  return e.loadVector(kernel.operand(number), e.add(offset, point.indices[0]),
                      kernel.spec.operandTypes()[number].getElementType(), point.width, 1,
                      point.mask);
}

/// Of the elements of a point, i32.
Value PieceEmitter::numbers(const Point &point) {
  Value number =
      arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), e.add(first, point.indices[0]));
  return arith::AddIOp::create(e.b, e.loc, e.splat(number, point.width),
                               e.laneNumbers(point.width));
}

/// Elements from `place` on of the piece, in so many vectors. Takes the sums so far, `unroll` of
/// each kind, and returns those behind it.
SmallVector<Value> PieceEmitter::step(Value place, int64_t vectors, Value mask, ValueRange sums) {
  SmallVector<SmallVector<Value>> values;
  SmallVector<Point> points;
  for (int64_t i = 0; i < vectors; ++i) {
    Point point;
    point.shape = {FlatLayout::longestPiece};
    point.indices = {e.add(place, i * kernel.lanes)};
    point.axis = 0;
    point.width = kernel.lanes;
    point.mask = mask;
    BodyEmitter emitter(body, e.b, e.loc, [this](unsigned n, const Point &p) { return load(n, p); },
                        {});
    SmallVector<Value> &row = values.emplace_back();
    for (int64_t number = 0; number < resultCount() + sumCount(); ++number)
      row.push_back(emitter.emitVector(yielded(number), point));
    points.push_back(std::move(point));
  }
  for (auto [point, row] : llvm::zip_equal(points, values))
    for (int64_t number = 0; number < resultCount(); ++number)
      e.storeVector(row[number], kernel.result(number), e.add(offset, point.indices[0]), 1, mask);
  SmallVector<Value> next(sums);
  for (int64_t i = 0; i < vectors; ++i)
    for (int64_t number = 0; number < sumCount(); ++number) {
      Value &sum = next[number * unroll + i];
      Value term = values[i][resultCount() + number];
      sum = arith::AddFOp::create(e.b, e.loc, sum,
                                  mask ? e.blend(mask, term, e.number(0, term.getType())) : term);
    }
  return next;
}

void PieceEmitter::emit(Value piece) {
  Value row = e.mul(piece, FlatLayout::pieceColumns);
  Value tensor = loadNumber(operands.pieces(), row);
  offset = loadNumber(operands.pieces(), e.add(row, 1));
  Value size = loadNumber(operands.pieces(), e.add(row, 2));
  first = loadNumber(operands.pieces(), e.add(row, 3));
  each.clear();
  for (int64_t i = 0; i < operands.each; ++i)
    each.push_back(loadNumber(operands.streams + i, tensor));
  SmallVector<Value> sums;
  for (int64_t number = 0; number < sumCount(); ++number)
    sums.append(unroll, e.number(0, VectorType::get(kernel.lanes, sumType(number))));
  const int64_t stride = kernel.lanes * unroll;
  Value whole = e.mul(e.div(size, stride), stride);
  sums = e.carry(e.constant(0), whole, stride, sums,
                 [&](Value place, ValueRange carried) { return step(place, unroll, {}, carried); });
  sums = e.carry(whole, size, kernel.lanes, sums, [&](Value place, ValueRange carried) {
    return step(place, 1, e.firstLanes(e.sub(size, place), kernel.lanes), carried);
  });
  auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(e.b, e.loc, a, b); };
  for (int64_t number = 0; number < sumCount(); ++number) {
    Value total = sums[number * unroll];
    for (int64_t i = 1; i < unroll; ++i)
      total = add(total, sums[number * unroll + i]);
    e.store(e.convertFloat(e.reduceLanes(total, add), e.b.getF64Type()), kernel.workspace(),
            e.add(e.mul(piece, sumCount()), number));
  }
}

/// A task takes `piecesPerTask` of the table's pieces.
static void emitPieces(const KernelSpec &spec, const KernelSpec &body, const CpuTarget &target,
                       StringRef symbol, ModuleOp module) {
  dl::MultiTensorOp op = updateOf(spec);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/op.getSums() != 0);
  CodeEmitter &e = kernel.e;
  PieceEmitter emitter(kernel, body);
  Value first = e.mul(kernel.task, piecesPerTask);
  e.loop(first, e.add(first, piecesPerTask), 1, [&](Value piece) { emitter.emit(piece); });
  kernel.finish();
}

/// A task adds the partial sums of one tensor.
static void emitTotals(const KernelSpec &spec, const CpuTarget &target, StringRef symbol,
                       ModuleOp module) {
  dl::MultiTensorOp op = updateOf(spec);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/1);
  CodeEmitter &e = kernel.e;
  Value firsts = kernel.operand(Operands(op).firstPieces());
  Value first = e.load(firsts, kernel.task, e.b.getI64Type());
  Value last = e.load(firsts, e.add(kernel.task, 1), e.b.getI64Type());
  const int64_t sums = op.getSums();
  SmallVector<Value> zeros(sums, e.number(0, e.b.getF64Type()));
  SmallVector<Value> totals = e.carry(first, last, 1, zeros, [&](Value piece, ValueRange carried) {
    SmallVector<Value> next;
    for (auto [number, total] : llvm::enumerate(carried)) {
      Value part = e.load(kernel.workspace(), e.add(e.mul(piece, sums), number), e.b.getF64Type());
      next.push_back(arith::AddFOp::create(e.b, e.loc, total, part));
    }
    return next;
  });
  for (auto [number, total] : llvm::enumerate(totals))
    e.store(e.convertFloat(total, getElementTypeOrSelf(op.getSum(number))),
            kernel.result(op.getResultStreams() + number), kernel.task);
  kernel.finish();
}

LogicalResult MultiTensorGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                         const CpuTarget &target, StringRef symbol,
                                         ModuleOp module) const {
  FailureOr<KernelSpec> body = KernelSpec::get(updateOf(spec).getBody().front());
  if (failed(body))
    return failure();
  emitPieces(spec, *body, target, phaseSymbol(symbol, candidate, 0), module);
  if (candidate.phases.size() > 1)
    emitTotals(spec, target, phaseSymbol(symbol, candidate, 1), module);
  return success();
}

std::unique_ptr<CpuGenerator> codegen::createMultiTensorGenerator() {
  return std::make_unique<MultiTensorGenerator>();
}
