// Operations on tensors as the language means them: broadcasting, dtypes, the batch axis, and how
// sums add up.
//
// Operators and built-ins share these. A Site is one operation of the text: where it stands, what
// messages call it, and the name it takes (`add1`, `conv2`) when the first op is built.
#ifndef DLC_FRONTEND_DL_EVALUATION_TENSOROPS_H
#define DLC_FRONTEND_DL_EVALUATION_TENSOROPS_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include "frontend/DL/Evaluation/Evaluator.h"

namespace dlc::frontend {

class Site {
public:
  /// `word` counts the name; `label` stands in messages: "conv2d", "'+'".
  Site(Evaluator &evaluator, SourceRange range, llvm::StringRef word, std::string label)
      : evaluator(evaluator), range(range), label(std::move(label)), word(word) {}

  EntryBuilder &entry() { return *evaluator.entry; }
  /// The path of the name that this operation takes; taken at the first call.
  const std::string &path();
  mlir::Location location();
  DiagnosticBuilder error(const llvm::Twine &message) { return evaluator.error(range, message); }

  /// A tensor made here from `inputs`; it depends on the data if one of them does.
  Tensor make(mlir::Value value, BatchAxis batch, llvm::ArrayRef<const Tensor *> inputs);
  /// The same, for a result with the shape of `x`: notes then point at what gave `x` its shape.
  Tensor makeLike(mlir::Value value, const Tensor &x);
  /// Reports if a tensor of this shape is beyond all memory.
  bool checkSize(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// Reports and returns false if the batch lies on one of `axes`.
  bool checkNotBatch(const Tensor &x, llvm::ArrayRef<int64_t> axes, SourceRange argument,
                     llvm::StringRef hint = "");

  Evaluator &evaluator;
  SourceRange range;
  std::string label;

protected:
  std::string takenPath;
  llvm::StringRef word;
  bool hasPath = false;
};

/// What builds the ops of the operation.
inline dl::TensorBuilder at(Site &site) { return {site.entry().builder, site.location()}; }

/// An operand with its place.
struct Operand {
  Value value;
  SourceRange range;
};

/// Makes numbers tensors and broadcasts both to one shape; false after an error.
bool matchOperands(Site &site, const Operand &a, const Operand &b, Tensor &left, Tensor &right,
                   BatchAxis &batch);
/// Broadcasts both to one shape; false after an error.
bool broadcastBoth(Site &site, Tensor &left, Tensor &right, BatchAxis &batch);

enum class Arithmetic : uint8_t { Add, Subtract, Multiply, Divide, Maximum, Minimum };
Value applyArithmetic(Site &site, Arithmetic kind, const Operand &a, const Operand &b);
Value applyCompare(Site &site, dl::Predicate predicate, const Operand &a, const Operand &b);
Value applyMatmul(Site &site, const Operand &a, const Operand &b);
Value applyNegate(Site &site, const Tensor &x);

enum class Reduction : uint8_t { Sum, Mean, Max, Min };
/// `axes` increasing, without repeats.
Value applyReduce(Site &site, Reduction kind, const Tensor &x, llvm::ArrayRef<int64_t> axes,
                  bool keep);
/// Over all axes.
Value applyReduceAll(Site &site, Reduction kind, const Tensor &x);
/// The element counts must agree.
Value applyReshape(Site &site, const Tensor &x, llvm::ArrayRef<int64_t> shape);

/// Whether a number can be an element of the dtype, as far as its range goes: a finite one is not
/// infinite there. Nothing but numbers can.
bool fitsInto(const Value &number, DType dtype);
/// Product of sizes; nothing on overflow.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);
/// The same shape and dtype, another op: relu, exp.
template <typename Op> Value applyUnary(Site &site, const Tensor &x) {
  mlir::Value y = Op::create(site.entry().builder, site.location(), x.value.getType(), x.value);
  return site.makeLike(y, x);
}

} // namespace dlc::frontend

#endif
