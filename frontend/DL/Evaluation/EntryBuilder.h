// Builds one dl.entry: inputs, reads, ops, outputs, and the terminator at the end.
//
// Knows nothing of the language: shapes are right when they come here. In entries that pad their
// last batch (evaluate, infer) it also makes the mask of the valid samples.
#ifndef DLC_FRONTEND_DL_EVALUATION_ENTRYBUILDER_H
#define DLC_FRONTEND_DL_EVALUATION_ENTRYBUILDER_H

#include "frontend/DL/Evaluation/Value.h"

#include "dialects/DL/DL.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <tuple>

namespace dlc::dl {
class EntryOp;
}

namespace dlc::frontend {

enum class Arithmetic : uint8_t { Add, Subtract, Multiply, Divide, Maximum, Minimum };

/// Marks each op that is made with what it is to compute in.
class PrecisionMarker : public mlir::OpBuilder::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;

  std::optional<DType> precision; ///< none: as the weights' groups and the entry say
  /// Weights of groups that say it, and what is made of them alone.
  llvm::DenseMap<mlir::Value, DType> ofWeights;
};

class EntryBuilder {
public:
  EntryBuilder(mlir::ModuleOp module, llvm::StringRef name, program::EntryKind kind,
               int64_t samples, mlir::Location location);

  llvm::StringRef name();
  /// N: the samples of one micro-batch.
  int64_t samples() const { return batchSize; }
  bool isTraining() const { return kind == program::EntryKind::Train; }
  /// Samples beyond the `valid` input are padding.
  bool hasPadding() const { return !isTraining(); }

  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type, BatchAxis batch,
                       mlir::Location location);
  /// Notes that `label` holds numbers of classes, from 0 to `classes` - 1, or `ignored`. Where it
  /// is an input, in whatever shape or integer type, the runtime checks what it is given.
  void markClasses(mlir::Value label, int64_t classes, std::optional<int64_t> ignored = {});
  /// Of numbers that stand in the program: the first that is no class, from 0 to `classes` - 1, and
  /// not `ignored`.
  static std::optional<int64_t> findNoClass(mlir::Value numbers, int64_t classes,
                                            std::optional<int64_t> ignored = {});
  /// The number of valid samples, i32[]; becomes an input when it is first asked for.
  mlir::Value valid();
  /// The same as f32[].
  mlir::Value validCount();
  mlir::Value read(llvm::StringRef key, mlir::RankedTensorType type, mlir::Location location);

  /// The value of a variable after the updates so far.
  mlir::Value current(llvm::StringRef key, mlir::RankedTensorType type, mlir::Location location);
  /// As `assign`, for a statistic of `anchor`: nothing is kept of what no result and no loss needs.
  void assignIfUsed(llvm::StringRef key, mlir::Value value, mlir::Value anchor) {
    statistics.push_back({key.str(), value, anchor});
  }
  /// Gives a variable its value for the next run of the entry.
  void assign(llvm::StringRef key, mlir::Value value, mlir::Location location) {
    assignments.push_back({key.str(), value, location});
  }

  mlir::RankedTensorType withShape(mlir::Value like, llvm::ArrayRef<int64_t> shape);
  mlir::Value splat(mlir::Location location, mlir::RankedTensorType type, double value);
  /// Repeats along new and size-1 axes; axis i of `x` becomes axis dims[i].
  mlir::Value broadcast(mlir::Location location, mlir::Value x, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<int64_t> shape);
  /// NumPy's broadcasting, from the right; `x` itself if it has the shape.
  mlir::Value expandTo(mlir::Location location, mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value arithmetic(mlir::Location location, Arithmetic kind, mlir::Value a, mlir::Value b);
  mlir::Value reshape(mlir::Location location, mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Drops the axes.
  mlir::Value reduce(mlir::Location location, dl::ReduceKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> axes);
  /// `x` with `fill` in the place of samples that are padding; `x` itself where there is no
  /// padding.
  mlir::Value maskPadding(mlir::Location location, mlir::Value x, BatchAxis batch, double fill);

  /// What the ops compute in that no call says otherwise of.
  void setPrecision(DType precision);

  void addOutput(mlir::Value value, llvm::StringRef name, program::ValueKind kind,
                 BatchAxis batch = {});
  /// Ends the entry: drops what no output and no loss needs. `weights` are what each of the losses
  /// counts beside those of other batches and ranks; none if all count alike.
  void finish(mlir::ValueRange losses = {}, mlir::ValueRange weights = {});
  dl::EntryOp entry();

  /// What labels weigh in a mean: each sample, as the logits, and all of them, f64[] where
  /// those are of f64, else f32[].
  struct LabelWeights {
    mlir::Value each, total;
  };
  /// Equal labels, weights of classes and ignored class have one total, so that losses on them are
  /// divided by one value.
  using LabelKey = std::tuple<void *, void *, int64_t, std::optional<int64_t>>;
  std::map<LabelKey, LabelWeights> labelWeights;

  mlir::OpBuilder builder;
  PrecisionMarker marker;

private:
  mlir::Value sampleMask();
  void eraseUnused();

  mlir::Operation *op; ///< dl.entry
  program::EntryKind kind;
  int64_t batchSize;
  mlir::Value validInput, validFloat, mask;
  llvm::StringMap<mlir::Value> reads;
  mlir::Operation *lastRead = nullptr;
  llvm::SmallVector<mlir::Attribute> inputAttributes, outputAttributes;
  llvm::SmallVector<mlir::Value> outputs;
  struct Assignment {
    std::string key;
    mlir::Value value;
    mlir::Location location;
  };
  std::vector<Assignment> assignments;
  struct Statistic {
    std::string key;
    mlir::Value value;
    mlir::Value anchor;
  };
  void assignStatistics();
  std::vector<Statistic> statistics;
};

} // namespace dlc::frontend

#endif
