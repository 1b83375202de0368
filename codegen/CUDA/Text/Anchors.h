//===- Anchors.h - a kernel's anchor as skeletons see it ----------------------------*- C++ -*-===//
//
// Skeletons know a few shapes of problem only: rows of elements, products of matrices, windows over
// three axes. The generator that owns an anchor adds to a kernel's text the sizes and the accessors
// that its skeleton asks for: x(k, r), a(b, m, k), ... each an operand of the anchor with
// everything fused in front of it. What several of them need is here.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_TEXT_ANCHORS_H
#define DLC_CODEGEN_CUDA_TEXT_ANCHORS_H

#include "codegen/CUDA/Text/KernelText.h"

namespace dlc::dl {
class MatmulOp;
} // namespace dlc::dl

namespace dlc::codegen {

/// The anchor's results in the skeleton's own numbering.
struct AnchorForm {
  llvm::SmallVector<int64_t> space;        ///< index space of the results
  llvm::SmallVector<llvm::StringRef> axes; ///< names of its indices
  mlir::Type element;                      ///< of the first result, and of the accessors
};

/// name(axes...): `value` at these indices of `shape`. Fails where that cannot be printed.
mlir::LogicalResult addAccessor(KernelText &text, llvm::StringRef name, mlir::Value value,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::ArrayRef<llvm::StringRef> axes);
/// T, the type that the anchor computes with: that of sums. Fails if CUDA has none.
mlir::LogicalResult setAnchorType(KernelText &text, mlir::Type element);
/// The three axes that a window slides along, D, H and W.
void addAxes(KernelText &text, const dl::WindowGeometry &g);

/// The point of `space` whose indices are the function's first parameters.
Point ownPoint(DeviceFunction &function, llvm::ArrayRef<int64_t> space);
/// What a function that finishes elements is given of the anchor: a parameter v, value1, ... of
/// each result's type.
llvm::SmallVector<mlir::Value> addAnchorValues(DeviceFunction &function, mlir::ValueRange results);
/// Stores result `number` at `own`; fails where it has other elements, or is padded.
mlir::LogicalResult storeAt(DeviceFunction &function, BodyEmitter &body, unsigned number,
                            const Point &own);

/// Adds sizes and accessors of a matrix product or a convolution, for several generators. Fails
/// where they cannot be printed.
mlir::FailureOr<AnchorForm> describeProduct(KernelText &text);

/// Adds `name`(axes..., v): finishes all results at the anchor's element and stores them, also
/// those in front of the anchor that have an element there. Fails if one of them needs the anchor
/// elsewhere, or is padded, or if there are sums beside the anchor or reductions behind it.
mlir::LogicalResult addStore(KernelText &text, const AnchorForm &form, llvm::StringRef name);
/// The same of a convolution with reductions behind it, in float32 and for each channel:
/// `name`(axes..., v, totals) also adds what is reduced to its channel's Totals, and store(k, v),
/// which reduce_parts asks for as for KEPT and Totals, stores what waits for those of channel k.
mlir::LogicalResult addReducingStore(KernelText &text, const AnchorForm &form,
                                     llvm::StringRef name);

/// The operand of the kernel that `value` is, stored in whatever layout; reshaped at most, where
/// that changes nothing in memory.
std::optional<unsigned> storedOperand(mlir::Value value);

/// How a reduction walks its operand: the operand's shape with neighbouring axes of one kind
/// merged. Reductions of one kernel have the same.
struct ReducedAxes {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<bool> reduced;

  explicit ReducedAxes(dl::ReductionOp op);
  llvm::SmallVector<int64_t> extents(bool ofReduced) const;
  /// Whether neighbours in memory are combined with each other.
  bool alongRows() const { return shape.empty() || reduced.back(); }
};

/// The point of the operand that element r of those that are combined to element k stands at; k and
/// r are the function's first two indices.
Point reducedPoint(DeviceFunction &function, const ReducedAxes &axes);

/// struct `name`: a total of each reduction, see reductions.cuh. Empty if a type is none that CUDA
/// kernels know.
std::string totalsStruct(llvm::ArrayRef<dl::ReductionOp> reductions, llvm::StringRef name);
/// Members for the reductions' skeletons: KEPT, REDUCED, QUADS, Totals and add(v, k, r), which also
/// stores the results in front of the anchor. `quads`: it takes four neighbours along k, which are
/// neighbours in memory, with one access to each operand. Empty if they cannot be printed.
std::string reductionMembers(const KernelSpec &spec, bool quads);
/// The member of Totals that result `number` of `reductions`, counted through all of them, is in.
std::string totalMember(llvm::ArrayRef<dl::ReductionOp> reductions, unsigned number);
/// Values that Totals has.
unsigned totalValues(llvm::ArrayRef<dl::ReductionOp> reductions);

/// Sizes of a matrix product.
struct ProductSizes {
  int64_t batch, m, n, k;
  explicit ProductSizes(dl::MatmulOp op);
};

} // namespace dlc::codegen

#endif
