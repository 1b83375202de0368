//===- EntryBuilder.h - one dl.entry, from its inputs to its end --------------------*- C++ -*-===//
//
// Inputs and their classes, reads, assignments and statistics of variables, results, and the
// terminator at the end; ops are built by `builder` in between, as with TensorBuilder. In entries
// that pad their last batch (evaluate, infer) it also makes the mask of the valid samples.
//
//   EntryBuilder entry(module, "infer", program::EntryKind::Infer, /*samples=*/8, location);
//   Value x = entry.addInput("x", type, {0}, location), w = entry.read("w", weightType, location);
//   entry.addOutput(TensorBuilder{entry.builder, location}.multiply(x, w), "y",
//                   program::ValueKind::Result, {0});
//   entry.finish();
//
// It checks nothing: what is wrong with an entry (two results of one name, a variable that there is
// not, one that is assigned twice) say the verifiers of dl.entry, dl.read and dl.assign. Losses and
// metrics are TrainingBuilder's.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_ENTRYBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_ENTRYBUILDER_H

#include "dialects/DL/Builders/MetricTerms.h"
#include "dialects/DL/DL.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <optional>
#include <tuple>

namespace dlc::dl {
class EntryOp;

/// The samples of the batch along one axis: index = (o * N + sample) * inner + i, o in [0, outer),
/// i in [0, inner). A reshape may merge the batch with its neighbours; outer and inner keep track
/// of it.
struct BatchAxis {
  int axis = -1;
  int64_t outer = 1;
  int64_t inner = 1;

  bool exists() const { return axis >= 0; }
  /// The axis is the batch and nothing else.
  bool isPlain() const { return exists() && outer == 1 && inner == 1; }
  bool operator==(const BatchAxis &) const = default;
};

/// Marks each op that is made with what it is to compute in.
class PrecisionMarker : public mlir::OpBuilder::Listener {
public:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;

  mlir::Type precision; ///< null: as the weights' groups and the entry say
  /// Weights of groups that say it, and what is made of them alone.
  llvm::DenseMap<mlir::Value, mlir::Type> ofWeights;
};

class EntryBuilder {
public:
  /// An entry at the end of `module` that takes `samples` samples at a time.
  EntryBuilder(mlir::ModuleOp module, llvm::StringRef name, program::EntryKind kind,
               int64_t samples, mlir::Location location);
  EntryBuilder(const EntryBuilder &) = delete;

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

  /// `x` with `fill` in the place of samples that are padding; `x` itself where there is no
  /// padding.
  mlir::Value maskPadding(mlir::Location location, mlir::Value x, BatchAxis batch, double fill);
  /// A sum over `elements` elements of the batch, by how many of them are of valid samples.
  mlir::Value divideByValid(mlir::Location location, mlir::Value sum, int64_t elements);
  /// The mean over `elements` elements of the batch, of which `sum` is the sum of those of valid
  /// samples.
  MetricTerm meanOfBatch(mlir::Value sum, int64_t elements) const {
    return {sum, double(batchSize) / double(elements), /*perSample=*/true};
  }

  /// What the ops compute in that no call says otherwise of.
  void setPrecision(mlir::Type precision);
  /// Whether that is of this type, or what one of its ops is asked to compute in.
  bool computesIn(mlir::Type precision);
  /// Whether anything of it is, or is to be, in 16 bits.
  bool hasHalves();

  void addOutput(mlir::Value value, llvm::StringRef name, program::ValueKind kind,
                 BatchAxis batch = {});
  /// Ends the entry: drops what no output and no loss needs. `weights` are what each of the losses
  /// counts beside those of other batches and ranks; none if all count alike.
  void finish(mlir::ValueRange losses = {}, mlir::ValueRange weights = {});
  EntryOp entry();

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
  void assignStatistics();

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
  std::vector<Statistic> statistics;
};

} // namespace dlc::dl

#endif
