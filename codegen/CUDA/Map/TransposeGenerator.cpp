//===- TransposeGenerator.cpp - permutations of axes, in tiles --------------------------------===//
//
// The operand's last axis N and the axis M that becomes the last are turned in tiles; all other
// axes are batches. Where the last axis stays the last, nothing has to be turned: cuda-elements.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "dialects/DL/Ops/DLIndexOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256;

namespace {
class TransposeGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-transpose"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// Which axes of the operand are M, N and batches, axes of size 1 aside.
struct Turn {
  ArrayRef<int64_t> shape; ///< the operand's
  int64_t m = -1, n = -1;
  SmallVector<int64_t> batch;

  explicit Turn(dl::TransposeOp op)
      : shape(cast<RankedTensorType>(op.getX().getType()).getShape()) {
    for (int64_t axis : op.getOrder())
      m = shape[axis] != 1 ? axis : m;
    for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
      n = shape[axis] != 1 ? axis : n;
    for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
      if (axis != m && axis != n)
        batch.push_back(axis);
  }
  SmallVector<int64_t> batchShape() const {
    return llvm::map_to_vector(batch, [&](int64_t axis) { return shape[axis]; });
  }
  /// The operand's indices from (b, m, n).
  SmallVector<Value> indices(DeviceFunction &f) const {
    SmallVector<Value> all(shape.size());
    for (auto [axis, index] : llvm::zip_equal(batch, f.delinearize(f.index(0), batchShape())))
      all[axis] = index;
    all[m] = f.index(1);
    all[n] = f.index(2);
    return all;
  }
};
} // namespace

SmallVector<Candidate> TransposeGenerator::schedules(const KernelSpec &spec,
                                                     const CudaTarget &target) const {
  auto op = dyn_cast_or_null<dl::TransposeOp>(spec.anchorOp());
  if (!op || op.getType().getNumElements() == 0)
    return {};
  Turn turn(op);
  if (turn.m == turn.n)
    return {};
  Candidate candidate;
  candidate.schedule = "transpose";
  candidate.phases.push_back(
      {uint64_t(product(turn.batchShape()) * llvm::divideCeil(turn.shape[turn.m], 32) *
                llvm::divideCeil(turn.shape[turn.n], 32)),
       0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

FailureOr<KernelText> TransposeGenerator::write(const KernelSpec &spec,
                                                const Candidate &candidate) const {
  auto op = cast<dl::TransposeOp>(spec.anchorOp());
  Turn turn(op);
  std::string element = computedTypeName(getElementTypeOrSelf(op.getY()));
  KernelText text(spec, {"transpose"});
  text.constant("THREADS", threads);
  text.constant("BATCH", product(turn.batchShape()));
  text.constant("M", turn.shape[turn.m]);
  text.constant("N", turn.shape[turn.n]);
  text.type("T", element);

  DeviceFunction x(spec, "x", {"b", "m", "n"});
  BodyEmitter front = x.body();
  Value value = front.emit(op.getX(), DeviceFunction::point(turn.shape, turn.indices(x)));
  if (!value)
    return failure();
  x.returns(value);

  DeviceFunction store(spec, "store", {"b", "m", "n"});
  SmallVector<Value> source = turn.indices(store), target;
  for (int64_t axis : op.getOrder())
    target.push_back(source[axis]);
  Value v = store.addValue("v", getElementTypeOrSelf(op.getY()));
  Point own = DeviceFunction::point(op.getType().getShape(), target);
  BodyEmitter behind =
      store.body([&](unsigned, const Point &at) { return at == own ? v : Value(); });
  for (auto [number, type] : llvm::enumerate(spec.resultTypes()))
    if (!spec.dependsOnAnchor(spec.result(number)) ||
        type.getNumElements() != op.getType().getNumElements() ||
        program::PhysicalLayout::get(type).elements != type.getNumElements() ||
        failed(store.store(behind, number, own)))
      return failure();
  if (element.empty() || failed(text.add(x)) || failed(text.add(store)))
    return failure();
  text.phase(threads, "transpose");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaTransposeGenerator() {
  return std::make_unique<TransposeGenerator>();
}
