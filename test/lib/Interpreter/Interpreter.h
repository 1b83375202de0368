//===- Interpreter.h - the oracle: runs dl entries in float64 -----------------------*- C++ -*-===//
//
// Computes every op from the text of its definition, in float64 and in the slowest obvious way. It
// shares no index or shape code with the dialect or the lowerings, and computes composites by their
// own formula instead of decompose(), so that an error there shows as a difference. Casts between
// float types change nothing, unless results of 16 bits are to be rounded as these hold them;
// integers wrap as their type does. dl.gradient is a central difference.
//
// Variables live in the object from run to run, as they do in the runtime: reads see the values at
// the beginning of a run, assignments are adopted at its end. Errors are reported at the op that
// they are about.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_LIB_INTERPRETER_INTERPRETER_H
#define DLC_TEST_LIB_INTERPRETER_INTERPRETER_H

#include "dialects/DL/DL.h"
#include "test/lib/Interpreter/Tensor.h"
#include <map>
#include <optional>

namespace dlc::dl {
class EntryOp;
class GradientOp;
class MultiTensorOp;
class UpdateRowsOp;
} // namespace dlc::dl

namespace dlc::interpreter {

/// The logical shape of a tensor type.
Shape shapeOf(mlir::Type type);

/// `value` as an element type holds it: integers wrap, bool is 0 or 1, floats stay.
double stored(double value, mlir::Type element);

class Interpreter {
public:
  struct Results {
    std::vector<Tensor> outputs;
    std::optional<Tensor> loss;
  };

  /// Variables by symbol name; an entry may read only those that are here.
  std::map<std::string, Tensor> variables;
  /// Values that replace those written at dl.scalar, by name; the schedule's factor is not applied
  /// to these.
  std::map<std::string, double> scalars;
  /// Whether what is of bf16 or f16 is rounded once, behind the op that computes it.
  bool rounds = false;
  /// What `scheduled` scalars are multiplied by.
  double scheduleFactor = 1;

  mlir::FailureOr<Results> run(dl::EntryOp entry, llvm::ArrayRef<Tensor> inputs);

  /// Runs the ops of `block` on values for its arguments: the operands of its terminator.
  mlir::FailureOr<std::vector<Tensor>> runBlock(mlir::Block &block,
                                                llvm::ArrayRef<Tensor> arguments);

private:
  void round(mlir::Type type, Tensor &tensor) const;
  using Environment = llvm::DenseMap<mlir::Value, Tensor>;

  /// Runs `ops` in turn, on values of `environment`, and puts their results there.
  mlir::LogicalResult runOps(llvm::ArrayRef<mlir::Operation *> ops, Environment &environment);
  mlir::FailureOr<std::vector<Tensor>> runGradient(dl::GradientOp op,
                                                   const Environment &environment);
  mlir::FailureOr<std::vector<Tensor>> runOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
  mlir::FailureOr<std::vector<Tensor>> runMultiTensor(dl::MultiTensorOp op,
                                                      llvm::ArrayRef<Tensor> operands);
  mlir::FailureOr<std::vector<Tensor>> runUpdateRows(dl::UpdateRowsOp op,
                                                     llvm::ArrayRef<Tensor> operands);
  std::map<std::string, Tensor> assigned;
};

//===------------------------------------------------------------------------------------------===//
// The ops by subject; nothing if the op is of another subject
//===------------------------------------------------------------------------------------------===//

using Values = std::optional<std::vector<Tensor>>;
Values runElementwise(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runTensorOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runConvolution(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runPooling(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runSample(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runComposite(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runRecurrent(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runAttention(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
Values runClassification(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

} // namespace dlc::interpreter

#endif
