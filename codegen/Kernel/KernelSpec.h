//===- KernelSpec.h - what a kernel computes, for every generator and target --------*- C++ -*-===//
//
// A kernel is the region of an exec.kernel: dl ops on tensors, the block's arguments are the
// operands, dl.yield's values the results. KernelSpec reads that region once: it finds the anchor
// (the one op that is not element-wise, or several reductions of one loop nest) and gives
// generators the rest as a function from indices to values, pulled from the results: a generator
// asks for a result at an index point, gives the anchor's value when asked for it, and gets
// arith/math ops on scalars or vectors. So bias, ReLU, masks, casts and whole element-wise chains
// fuse into every generator in the same way, before the anchor (prologue) and behind it (epilogue).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_KERNELSPEC_H
#define DLC_CODEGEN_KERNEL_KERNELSPEC_H

#include "dialects/DL/DL.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/Program/Layout.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <functional>
#include <string>

namespace dlc::dl {
class MultiTensorOp;
} // namespace dlc::dl

namespace dlc::codegen {

using dl::Anchor;

/// Identity of a kernel: 128 bits of a hash over everything that its code depends on.
using KernelKey = std::array<uint8_t, 16>;

/// A kernel's region, analysed. Does not own the region.
class KernelSpec {
public:
  /// `block`: dl ops ended by dl.yield. Fails (with an error at the offending op) if there is more
  /// than one anchor, or an op that no kernel can hold. Reductions of one loop nest are one anchor,
  /// also where one waits for another; sums beside a matmul are none: see isSum; nor are reductions
  /// of what another anchor gives: see hasReductionsBehind.
  static mlir::FailureOr<KernelSpec> get(mlir::Block &block);

  Anchor anchor() const { return kind; }
  /// Null for Anchor::Map; the first of several reductions.
  mlir::Operation *anchorOp() const { return op; }
  /// The region's reductions: those that are the anchor together, sums beside a matmul, or
  /// reductions behind the anchor.
  llvm::ArrayRef<dl::ReductionOp> reductions() const { return reductionOps; }
  /// What the anchor gives, in the order that BodyEmitter::AnchorValue counts in.
  llvm::ArrayRef<mlir::Value> anchorResults() const { return anchorValues; }
  /// The number of `value` among them.
  std::optional<unsigned> anchorResult(mlir::Value value) const {
    auto *found = llvm::find(anchorValues, value);
    return found == anchorValues.end() ? std::nullopt
                                       : std::optional<unsigned>(found - anchorValues.begin());
  }
  /// Whether `value` is a sum beside a matmul: a result, of a reduction that is not the anchor. It
  /// is no part of a body: BodyEmitter gives null for it.
  bool isSum(mlir::Value value) const {
    return value.getDefiningOp<dl::ReductionOp>() && sumsBeside;
  }
  /// Whether there is one. Generators that do not know them decline.
  bool hasSums() const { return sumsBeside && !reductionOps.empty(); }
  /// Whether reductions stand behind an anchor of another kind: over the space of its result, of
  /// values that need it. What waits for them is of pass 2, see passOf; anchorResults has theirs
  /// behind the anchor's own. Generators that do not know them decline.
  bool hasReductionsBehind() const {
    return op && !mlir::isa<dl::ReductionOp>(op) && !sumsBeside && !reductionOps.empty();
  }
  /// Whether each element of the results can be computed by itself, by the anchor's definition.
  bool hasPoints() const;
  mlir::Block &block() const { return *body; }

  /// Operands and results with their physical types, in the order of the launch's buffers: operands
  /// first. Those of a multi-tensor update are its flat buffers and tables, see exec.kernel.
  llvm::ArrayRef<mlir::RankedTensorType> operandTypes() const { return operands; }
  llvm::ArrayRef<mlir::RankedTensorType> resultTypes() const { return results; }

  /// The value that becomes result `number`.
  mlir::Value result(unsigned number) const { return body->back().getOperand(number); }
  /// Whether `value` needs the anchor; a result that does not is stored from the prologue.
  bool dependsOnAnchor(mlir::Value value) const { return behindAnchor.contains(value); }
  /// How many reductions, each of which waits for the one before, `value` waits for: the pass over
  /// a row in which it is computed.
  unsigned passOf(mlir::Value value) const { return behindAnchor.lookup(value); }
  /// Of row passes: the rows, if whatever waits for a row's reductions stands in that row. Then
  /// the anchor's values are asked for at their own row only.
  std::optional<dl::Rows> rows() const;

  /// Multiplications and additions of one run (two for a multiply-add), and the bytes that must be
  /// read and written.
  uint64_t flops() const;
  uint64_t bytes() const;
  /// Those of one buffer, operands first: of a table all of whose readers gather from it, what they
  /// gather.
  uint64_t bytesOf(unsigned buffer) const;

  /// The region without locations and symbols, with types, layouts and attributes: equal text is an
  /// equal kernel. It is also the form in which kernels travel between contexts: see parseKernel.
  std::string canonicalText() const;

  /// Of a multi-tensor update, whose code knows no sizes and no number of tensors: the canonical
  /// text of the smallest one that has the same code. Nothing for others.
  std::optional<std::string> sizelessText() const;

  /// Readable stem of the symbol: conv3x3_bias_relu_64x56x56.
  std::string stem() const;

private:
  bool joinsAnchor(mlir::Operation &op) const;
  bool standsBehind(dl::ReductionOp reduction) const;
  bool needsRowPasses() const;
  void addAnchor(mlir::Operation &op, Anchor anchor);
  mlir::LogicalResult addOp(mlir::Operation &op);
  void anchorTransposition();
  void follow(mlir::Operation &op);
  void setFlatBuffers(dl::MultiTensorOp update);

  Anchor kind = Anchor::Map;
  bool sumsBeside = false; ///< the reductions, if there are any
  mlir::Operation *op = nullptr;
  mlir::Block *body = nullptr;
  llvm::SmallVector<dl::ReductionOp> reductionOps;
  llvm::SmallVector<mlir::Value> anchorValues;
  llvm::SmallVector<mlir::RankedTensorType> operands, results;
  llvm::DenseMap<mlir::Value, unsigned> behindAnchor; ///< and its pass
};

/// Reads a canonicalText back: a module whose one dl.fused has the region. Fails with an error.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> parseKernel(llvm::StringRef text,
                                                               mlir::MLIRContext *context);
/// The block of a kernel that parseKernel read.
mlir::Block &kernelBlock(mlir::ModuleOp module);
/// The dialects that a context needs for parseKernel and for the generators.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Number of elements of a shape.
int64_t product(llvm::ArrayRef<int64_t> extents);

/// bf16 and f16: computed in f32, and rounded behind each op.
inline bool isSmallFloat(mlir::Type element) { return element.isBF16() || element.isF16(); }
/// The type that sums of `element` are kept in until they are rounded, once: f32 for bf16 and f16.
inline mlir::Type accumulatorType(mlir::Type element) {
  return isSmallFloat(element) ? mlir::Float32Type::get(element.getContext()) : element;
}

/// The element type as computed with: signless integers, bool as i1.
mlir::Type computedType(mlir::Type element);

/// A float or vector of floats in element type `element`. `isExact`: which holds all of them, so
/// that nothing is rounded; truncf then says exactNarrowing.
mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                         mlir::Type element, bool isExact = false);
inline constexpr auto exactNarrowing = mlir::arith::RoundingMode::toward_zero;

/// A point, or a vector of points, of a tensor's index space. All indices are i64.
struct Point {
  /// The index space: any shape with the tensor's number of elements, which it numbers in row-major
  /// order. Generators choose a shape that suits their loops; reshapes cost nothing then, and a row
  /// of 24x24 pixels is one axis of 576.
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Value> indices;
  /// With `width` > 1: the point stands for `width` elements along `axis`, at indices[axis] + lane
  /// * step.
  int64_t axis = -1;
  int64_t width = 1;
  int64_t step = 1;
  mlir::Value mask; ///< vector<width x i1> of the lanes that exist, or null: all

  bool operator==(const Point &) const = default;
};

/// Emits the value of the region's values at points: the bridge from a spec to a generator's loops.
class BodyEmitter {
public:
  /// Loads operand `number` at `point`, of the tensor's element type (bool as i8, u8 as signless
  /// i8). The operand varies along the vector axis, or the point is a scalar.
  using LoadOperand = std::function<mlir::Value(unsigned number, const Point &point)>;
  /// Gives KernelSpec::anchorResults()[number] at `point`: a vector, or a scalar that holds for all
  /// lanes. Null: the generator does not have the value at this point; emit() then fails.
  using AnchorValue = std::function<mlir::Value(unsigned number, const Point &point)>;
  /// Gives a value of the region that the generator has kept, computed as emit() would. Null: it
  /// has not.
  using KeptValue = std::function<mlir::Value(mlir::Value value, const Point &point)>;

  BodyEmitter(const KernelSpec &spec, mlir::OpBuilder &builder, mlir::Location loc,
              LoadOperand load, AnchorValue anchor)
      : spec(spec), builder(builder), loc(loc), load(std::move(load)), anchor(std::move(anchor)) {}

  /// Values that are asked for first.
  void setKept(KeptValue value) { kept = std::move(value); }

  /// `value` (of the spec's region) at `point`, computed: bool is i1. A vector<width x T>, or a
  /// scalar if the value is the same in all lanes. Null if the anchor's value was not to be had.
  /// Values are memoised within this emitter, so several results share their common part: make a
  /// new emitter for each place in the code.
  mlir::Value emit(mlir::Value value, const Point &point);
  /// The same, always as a vector if point.width > 1.
  mlir::Value emitVector(mlir::Value value, const Point &point);
  /// The same as stored in memory: bool is i8.
  mlir::Value emitStored(mlir::Value value, const Point &point);

private:
  mlir::Value compute(mlir::Value value, const Point &point);
  mlir::Value computeLanes(mlir::Value value, const Point &point);
  mlir::Value computeIndexed(dl::IndexOp op, const Point &point);
  mlir::Value computeOperand(dl::IndexOp op, unsigned number, const dl::IndexMap &map,
                             const Point &point, mlir::Value otherwise);
  mlir::Value lookUp(mlir::Value indices, int64_t axis, const Point &point);
  mlir::Value computeNumber(const dl::IndexMap &map, mlir::Type element, const Point &point);
  mlir::Value computeElementwise(dl::ElementwiseOp op, const Point &point);

  const KernelSpec &spec;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  LoadOperand load;
  AnchorValue anchor;
  KeptValue kept;
  llvm::SmallVector<std::tuple<mlir::Value, Point, mlir::Value>> memo;
};

/// `point` over the index space `shape` (as many elements). Fails if a vector of points is no
/// arithmetic sequence along one axis of it; scalars never fail.
mlir::FailureOr<Point> reshapePoint(mlir::OpBuilder &builder, mlir::Location loc,
                                    const Point &point, llvm::ArrayRef<int64_t> shape);
/// Lane `lane` as a scalar point; a lane that the mask hides stands at its nearest place inside the
/// index space.
Point lanePoint(mlir::OpBuilder &builder, mlir::Location loc, const Point &point, int64_t lane);

/// The coarsest index space that has all borders of `space` between its axes and in which the
/// values that the region computes from and into `roots` can be walked without divisions: an axis
/// of `space` is split where a broadcast, iota or layout tells its elements apart. All roots have
/// as many elements as `space`. Fails if no such space exists (reshapes that cut across each other,
/// no elements) or if a root is stored with padding; then only scalar points serve.
mlir::FailureOr<llvm::SmallVector<int64_t>> refineIndexSpace(const KernelSpec &spec,
                                                             llvm::ArrayRef<mlir::Value> roots,
                                                             llvm::ArrayRef<int64_t> space);

} // namespace dlc::codegen

#endif
