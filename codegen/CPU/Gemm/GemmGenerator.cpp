//===- GemmGenerator.cpp - dl.matmul on the CPU -----------------------------------------------===//
//
// Any float, any batch axes and transpositions, any body before and behind. Refuses empty tensors
// and bodies whose results cannot be written along the product's rows.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Gemm/Gemm.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Reduce/TotalReducer.h"
#include "dialects/DL/Ops/DLMatmulOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

class GemmGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-gemm"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

/// Whether the gradient of a weight is read together with tensors of its shape, as by its update.
static bool updatesWeight(const KernelSpec &spec, dl::MatmulOp op) {
  auto isRead = [&](BlockArgument argument) {
    return cast<RankedTensorType>(argument.getType()).getShape() ==
               op.getC().getType().getShape() &&
           llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != op; });
  };
  return op.getTransposeA() && llvm::any_of(spec.block().getArguments(), isRead);
}

static GemmProblem problemOf(const KernelSpec &spec) {
  auto op = cast<dl::MatmulOp>(spec.anchorOp());
  auto a = cast<RankedTensorType>(op.getA().getType()),
       c = cast<RankedTensorType>(op.getC().getType());
  const int64_t rank = c.getRank();
  GemmProblem p;
  p.element = Element::of(spec);
  p.batch = product(c.getShape().drop_back(2));
  p.m = c.getDimSize(rank - 2);
  p.n = c.getDimSize(rank - 1);
  p.k = a.getDimSize(rank - (op.getTransposeA() ? 2 : 1));
  p.rowsContiguousA = op.getTransposeA();
  p.columnsContiguousB = !op.getTransposeB();
  auto map = [&](int64_t rows, int64_t columns, bool transposed) -> PackedPhase::IndexMap {
    if (transposed)
      return {{p.batch, columns, rows}, {0, 2, 1}, /*wraps=*/false};
    return PackedPhase::IndexMap::identity({p.batch, rows, columns});
  };
  p.mapA = map(p.m, p.k, op.getTransposeA());
  p.mapB = map(p.k, p.n, op.getTransposeB());
  // A linear layer's, forward and backward to its input; its weight's gradient transposes a.
  if (!op.getTransposeA())
    p.weights = GemmProblem::Operand::B;
  p.mapC = map(p.m, p.n, false);
  p.finishesRows = updatesWeight(spec, op);
  return p;
}

SmallVector<Candidate> GemmGenerator::candidates(const KernelSpec &spec,
                                                 const CpuTarget &target) const {
  auto op = dyn_cast_or_null<dl::MatmulOp>(spec.anchorOp());
  if (!op || spec.hasSums() || !followsAnchor(spec) || !canWalkPrologueResults(spec) ||
      (spec.hasReductionsBehind() && !canReduceTotals(spec)))
    return {};
  GemmProblem problem = problemOf(spec);
  if (problem.batch * problem.m * problem.n * problem.k == 0 ||
      !isVectorAxis(spec, problem.mapC.shape, 2))
    return {};
  problem.weightA = operandWeight(op.getA());
  problem.weightB = operandWeight(op.getB());
  SmallVector<Candidate> all = gemmCandidates(problem, target);
  for (Candidate &candidate : all) {
    if (spec.hasReductionsBehind())
      keepTotals(spec, target, candidate);
    finishCandidate(spec, target, candidate);
  }
  return all;
}

LogicalResult GemmGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                  const CpuTarget &target, StringRef symbol,
                                  ModuleOp module) const {
  GemmProblem problem = problemOf(spec);
  return emitGemm(spec, candidate, target, symbol, module, problem);
}

std::unique_ptr<CpuGenerator> codegen::createGemmGenerator() {
  return std::make_unique<GemmGenerator>();
}
