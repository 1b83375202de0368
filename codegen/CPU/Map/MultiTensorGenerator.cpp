//===- MultiTensorGenerator.cpp - one element-wise function over many tensors -----------------===//
//
// The optimizer's update. A launch passes one flat buffer a stream; tensor i stands at the same
// offset in each (flatLayout). The kernel holds a table of pieces, each a run of elements of one
// tensor with that tensor's multipliers; long tensors are several pieces, a task takes as many
// pieces as make a grain of work.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/DLProgramOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Conversion/Storage.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct Piece {
  int64_t offset, count; ///< elements
  int64_t tensor;
};

/// The pieces in order, and where each task's begin; one entry more than tasks.
struct UpdatePlan {
  SmallVector<Piece> pieces;
  SmallVector<int64_t> firstPiece;

  explicit UpdatePlan(dl::MultiTensorOp op);
  uint32_t tasks() const { return firstPiece.size() - 1; }
};

class MultiTensorGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-multi-tensor"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

static const int64_t grain = 8192; // elements of a task

UpdatePlan::UpdatePlan(dl::MultiTensorOp op) {
  const SmallVector<int64_t> offsets = flatLayout(op).offsets;
  int64_t inTask = grain;
  for (int64_t tensor = 0; tensor < op.getCount(); ++tensor) {
    auto type = cast<RankedTensorType>(op.getTensor(0, tensor).getType());
    int64_t start = offsets[tensor] / program::elementBytes(type.getElementType());
    int64_t elements = program::PhysicalLayout::get(type).elements;
    for (int64_t done = 0; done < elements;) {
      if (inTask >= grain) {
        firstPiece.push_back(pieces.size());
        inTask = 0;
      }
      int64_t count = std::min(elements - done, grain - inTask);
      pieces.push_back({start + done, count, tensor});
      done += count;
      inTask += count;
    }
  }
  firstPiece.push_back(pieces.size());
}

static dl::MultiTensorOp updateOf(const KernelSpec &spec) {
  return cast<dl::MultiTensorOp>(spec.anchorOp());
}

SmallVector<Candidate> MultiTensorGenerator::candidates(const KernelSpec &spec,
                                                        const CpuTarget &target) const {
  if (spec.anchor() != Anchor::MultiTensor)
    return {};
  Candidate candidate;
  candidate.schedule = "multi_tensor grain " + std::to_string(grain);
  candidate.phases = {{UpdatePlan(updateOf(spec)).tasks(), 0}};
  candidate.cost = walkSeconds(spec, double(spec.flops()), target);
  return {candidate};
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

/// A constant array of the module; returns its address.
static Value emitTable(CodeEmitter &e, ModuleOp module, const Twine &name,
                       DenseElementsAttr values) {
  OpBuilder::InsertionGuard guard(e.b);
  std::string symbol = name.str();
  {
    OpBuilder::InsertionGuard inner(e.b);
    e.b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(values.getElementType(), values.getNumElements());
    LLVM::GlobalOp::create(e.b, e.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
                           values, /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(e.b, e.loc, e.pointerType(), symbol);
}

static DenseElementsAttr integers(CodeEmitter &e, ArrayRef<int64_t> values) {
  return DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, e.b.getI64Type()),
                                values);
}

namespace {
/// Emits one piece: loads, the body, stores.
struct PieceEmitter {
  KernelFunction &kernel;
  dl::MultiTensorOp op;
  const KernelSpec &body; ///< the op's own block
  Value multipliers;      ///< table: tensor-major
  Value offset, tensor;

  /// Argument `number` of the op's block: an element of a stream, a multiplier, or a scalar.
  Value load(unsigned number, const Point &point) {
    CodeEmitter &e = kernel.e;
    int64_t streams = op.getStreams(), perTensor = op.getMultipliersPerTensor();
    Type element = getElementTypeOrSelf(op.getTensor(0, 0));
    if (number >= streams + perTensor)
      return e.load(kernel.operand(number - perTensor), e.constant(0),
                    getElementTypeOrSelf(body.block().getArgument(number)));
    if (number >= streams)
      return e.load(multipliers, e.add(e.mul(tensor, perTensor), number - streams),
                    e.b.getF32Type());
    return e.loadVector(kernel.operand(number), e.add(offset, point.indices[0]), element,
                        point.width, 1, point.mask);
  }

  LogicalResult step(ArrayRef<Point> points) {
    CodeEmitter &e = kernel.e;
    SmallVector<SmallVector<Value>> values;
    for (const Point &point : points) {
      BodyEmitter emitter(body, e.b, e.loc,
                          [this](unsigned n, const Point &p) { return load(n, p); }, {});
      SmallVector<Value> &row = values.emplace_back();
      for (Value result : body.block().back().getOperands())
        row.push_back(emitter.emitVector(result, point));
    }
    for (auto [point, row] : llvm::zip_equal(points, values))
      for (auto [number, value] : llvm::enumerate(row))
        e.storeVector(value, kernel.result(number), e.add(offset, point.indices[0]), 1, point.mask);
    return success();
  }
};
} // namespace

LogicalResult MultiTensorGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                         const CpuTarget &target, StringRef symbol,
                                         ModuleOp module) const {
  dl::MultiTensorOp op = updateOf(spec);
  FailureOr<KernelSpec> body = KernelSpec::get(op.getBody().front());
  if (failed(body))
    return failure();
  UpdatePlan plan(op);
  KernelFunction kernel(spec, target, module, symbol, /*hasWorkspace=*/false);
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> rows;
  for (const Piece &piece : plan.pieces)
    rows.append({piece.offset, piece.count, piece.tensor});
  if (!rows.empty()) {
    Value table = emitTable(e, module, symbol + "_pieces", integers(e, rows));
    Value starts = emitTable(e, module, symbol + "_tasks", integers(e, plan.firstPiece));
    SmallVector<float> factors(op.getMultipliers().begin(), op.getMultipliers().end());
    Value multipliers;
    if (!factors.empty())
      multipliers = emitTable(
          e, module, symbol + "_multipliers",
          DenseElementsAttr::get(RankedTensorType::get({int64_t(factors.size())}, e.b.getF32Type()),
                                 ArrayRef<float>(factors)));
    Type i64 = e.b.getI64Type();
    Value first = e.load(starts, kernel.task, i64);
    Value last = e.load(starts, e.add(kernel.task, 1), i64);
    WalkPlan walk;
    walk.space = {grain};
    walk.width = kernel.lanes;
    walk.unroll = 4;
    e.loop(first, last, 1, [&](Value piece) {
      Value row = e.mul(piece, 3);
      PieceEmitter emitter{kernel,
                           op,
                           *body,
                           multipliers,
                           e.load(table, row, i64),
                           e.load(table, e.add(row, 2), i64)};
      Value count = e.load(table, e.add(row, 1), i64);
      (void)walkRow(e, walk, {}, e.constant(0), count,
                    [&](ArrayRef<Point> points) { return emitter.step(points); });
    });
  }
  kernel.finish();
  return success();
}

std::unique_ptr<CpuGenerator> codegen::createMultiTensorGenerator() {
  return std::make_unique<MultiTensorGenerator>();
}
