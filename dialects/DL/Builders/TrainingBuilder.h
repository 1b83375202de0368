//===- TrainingBuilder.h - what training adds to an entry ---------------------------*- C++ -*-===//
//
// The loss and the metrics with their accumulators, and of a training step how its parameters are
// updated: all that a frontend says of training beside the network itself.
//
//   EntryBuilder entry(module, "train_step", program::EntryKind::Train, /*samples=*/32, location);
//   ...                                        // inputs, reads of variables, ops
//   TrainingBuilder training(entry);
//   training.setLoss({entry.meanOfBatch(sum, /*elements=*/32)});
//   training.addMetric("accuracy", {entry.meanOfBatch(correct, 32)});
//   training.addGroup({{"w", "b"}, sgd});
//   training.finish();
//
// An entry that evaluates takes the same loss and metrics, over sums in which maskPadding() has
// left samples out that do not count: there a number of samples is that of the valid ones, which
// the data gives as the input `valid`.
//
// It checks nothing: what is wrong with an entry say the verifiers of dl.entry, dl.return and
// #dl.optimizer (a loss or a sum that is no scalar, two metrics of one name, a parameter that is
// updated twice). What only a training step has is asserted.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_TRAININGBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_TRAININGBUILDER_H

#include "dialects/DL/Builders/EntryBuilder.h"
#include "dialects/DL/Builders/MetricTerms.h"
#include "llvm/ADT/StringSet.h"

namespace dlc::dl {
struct TensorBuilder;

class TrainingBuilder {
public:
  /// Parameters that a step trains alike.
  struct Group {
    /// Names of variables.
    std::vector<std::string> parameters;
    OptimizerAttr optimizer;
    /// Factors on the optimizer's learning rate and weight decay.
    double lrMult = 1, decayMult = 1;
    /// They stay as they are.
    bool frozen = false;
  };

  /// Of an entry that trains or evaluates, to which it adds until `finish`.
  explicit TrainingBuilder(EntryBuilder &entry) : entry(entry) {}

  /// What is trained on, and shown before the metrics: the sum of `terms`, whose sums and counts
  /// are scalars. `value` is that sum where the entry has it already; else it is built.
  void setLoss(const MetricTerms &terms, mlir::Value value = {});
  /// What is shown beside the loss: what `finish` makes of the sum of `terms`. Area and table have
  /// one term without a count.
  void addMetric(llvm::StringRef name, const MetricTerms &terms,
                 program::Finish finish = program::Finish::None) {
    describe(name, program::MetricKind::Metric, terms, finish);
  }

  /// How often training passes over its samples, if whoever runs it does not say; one number for
  /// all of the module.
  void setEpochs(int64_t epochs);

  // Of training steps. Without them a step runs on each batch and updates by it.

  /// It runs on each so many batches.
  void setEvery(int64_t batches);
  /// An update averages the gradients of so many runs.
  void setAccumulate(int64_t runs);
  /// Learning rates are given for updates by so many samples: those of other updates are in
  /// proportion. One number for all of the module.
  void setReferenceBatch(int64_t samples);
  /// The limit on gradients before an update.
  void setClip(ClipKind kind, double limit);
  /// The decay of the average of each parameter, which entries that evaluate and infer read.
  void setEma(double decay);
  /// What the loss is multiplied by while it is differentiated, so that gradients of 16 bits do not
  /// vanish; dynamic: as much as leaves them finite.
  void setLossScale(double factor);
  void setDynamicLossScale();
  /// Weights that are read in 16 bits are stored so alone.
  void setWithoutMasters();
  /// What learning rates are multiplied by, as #program.schedule_parts.
  void setSchedule(mlir::ArrayAttr parts);

  /// The variables that the loss depends on.
  const llvm::StringSet<> &variablesOfLoss() const { return lossVariables; }
  /// Updates those parameters of the group that the loss depends on, and returns them. A parameter
  /// is of one group at most; updates are in the order of the groups.
  std::vector<std::string> addGroup(const Group &group);

  /// Ends the entry: behind its results stand the loss and, where the data says how much a batch
  /// counts, its count. A loss whose terms have different counts is given in parts, each with its
  /// own: their sum is what is differentiated.
  void finish();

private:
  struct Update {
    std::string variable;
    double lrMult, decayMult;
    OptimizerAttr optimizer;
  };
  /// The loss, or parts of it, and what they count beside those of other batches and ranks.
  struct Ends {
    llvm::SmallVector<mlir::Value> losses, weights;
  };

  EntryOp step();
  void describe(llvm::StringRef name, program::MetricKind kind, const MetricTerms &terms,
                program::Finish finish);
  mlir::StringAttr addCount(mlir::Value count, llvm::StringRef word);
  mlir::Value lossPart(TensorBuilder &b, mlir::Value count);
  mlir::Value wholeLoss();
  void collectVariables();
  mlir::ArrayAttr describeUpdates();
  Ends ends();

  EntryBuilder &entry;
  llvm::SmallVector<mlir::Attribute> metrics;
  /// The accumulators of counts, and how many have a word in front.
  llvm::DenseMap<mlir::Value, std::string> counts;
  llvm::StringMap<unsigned> countWords;

  mlir::Value loss;
  MetricTerms lossTerms;
  llvm::StringSet<> lossVariables;
  std::vector<Update> updates;
  std::optional<int64_t> referenceBatch;
};

} // namespace dlc::dl

#endif
