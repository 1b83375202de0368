//===- EntryUpdate.h - an entry while its update is built ---------------------------*- C++ -*-===//
//
// What the rooms of dl-build-update share: the parameters in groups, and how the entry's variables
// and scalars are made. Each room is a function on it:
//
//   accumulateGradients   the entry ends with sums, a second one goes on with them
//   reduceGradients       over the ranks of a data-parallel module
//   clipGradients         by element, or by a factor from norms
//   countGuarded          how often overflows left out an update, and the loss's scale
//   applyRule             one multi_tensor for a group: the optimizer's rule, and averages
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_UPDATE_ENTRYUPDATE_H
#define DLC_PASSES_DL_UPDATE_ENTRYUPDATE_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/DL/Update/Copies.h"

namespace dlc::dl {

/// The averages of parameters, by the parameter's name. All entries that update it share one.
using Averages = llvm::StringMap<VariableOp>;

/// One parameter of a group.
struct UpdatedParameter {
  UpdateAttr update;
  VariableOp variable;
  /// Of the loss, as the update takes it.
  mlir::Value gradient;
  /// Where gradients accumulate: those of the losses that are behind it, and their sums.
  llvm::SmallVector<mlir::Value, 1> parts = {};
  llvm::SmallVector<VariableOp, 1> sums = {};
  /// What it is in 16 bits, see Copies.h.
  llvm::SmallVector<VariableOp, 1> copies = {};
};

/// Parameters that share a multi_tensor.
struct ParameterGroup {
  OptimizerAttr optimizer;
  llvm::SmallVector<UpdatedParameter> parameters;
  /// The number of the loss that each of the parameters' parts is of.
  llvm::SmallVector<int64_t, 1> losses = {};

  llvm::SmallVector<mlir::Value> gradients() const;
  /// A value for each of the parameters.
  template <typename Make> auto forEach(Make make) const {
    return llvm::map_to_vector(parameters, make);
  }
};

/// What the body of an update clips by: the limit of each element or of each parameter's norm, or
/// the factor of all gradients, an f64; null without.
struct ClipScalar {
  mlir::Value value = {};
  ClipKind kind = ClipKind::Value;
};

/// The elements that an update of it computes with: of f32 where it is of 16 bits, as 1 - 0.999 is
/// 0 in those.
mlir::Type computedElement(VariableOp parameter);

class MultiTensorBuilder;

class EntryUpdate {
public:
  /// `real` is the type of scalars that are no integers.
  EntryUpdate(EntryOp entry, mlir::SymbolTable &symbols, Averages &averages, const Copies &copies,
              mlir::Type real)
      : entry(entry), symbols(symbols), averages(averages), copies(copies), real(real),
        builder(entry.getReturn()) {}

  /// The value of `variable` at the entry's beginning.
  mlir::Value read(VariableOp variable);
  /// Before what ends the entry.
  void assign(VariableOp variable, mlir::Value value);
  /// A slot of `parameter`, behind it and its other slots in the module, of the type that updates
  /// compute in. Where two entries update one parameter, each has its own.
  VariableOp createSlot(VariableOp parameter, llvm::StringRef kind, program::InitialiserAttr first);
  /// The one average of `parameter`, made where it is first asked for.
  VariableOp averageOf(VariableOp parameter);
  /// A scalar of the runtime, of the type `real` unless `type` says otherwise.
  mlir::Value scalar(const llvm::Twine &name, double value, bool scheduled = false,
                     mlir::Type type = {});
  /// The number of updates so far, an i64.
  mlir::Value step();
  /// One of the i64 counters that stand beside the loss's scale.
  VariableOp guardCounter(llvm::StringRef word);
  /// Ends a run in which one of these numbers is not finite, with an error of its gradients.
  void check(mlir::Value numbers);
  /// `part` of the update as the place of an op: "optimizer/clip".
  mlir::Location place(llvm::StringRef part);
  /// What names of scalars begin with: nothing for the entry `train_step`, else "<entry>.".
  std::string prefix();

  EntryOp entry;
  mlir::SymbolTable &symbols;
  Averages &averages;
  const Copies &copies;
  mlir::Type real;
  /// Stands before the terminator.
  mlir::OpBuilder builder;
  llvm::SmallVector<ParameterGroup> groups;
  ClipScalar clip;
  /// What the loss is multiplied by, see LossScale.h; null without.
  mlir::Attribute lossScale = {};
  /// Where the loss is scaled: the sum of all gradients' squares, f64, which is finite where they
  /// are. Else null.
  mlir::Value squares = {};
  /// What each loss counts beside those of other runs and ranks, f32[] or f64[]; none if all count
  /// alike.
  llvm::SmallVector<mlir::Value, 1> weights = {};
  /// How the gradients of all ranks become one; nothing with one rank.
  std::optional<AcrossRanks> acrossRanks = std::nullopt;
  /// What makes means of gradients that are sums: 1 / ranks, or 1 / the weights of all; else null.
  mlir::Value gradientScale = {};
  /// The ranks, an i32, where parameters are of f64 and the scale is 1 / ranks: these are divided
  /// by it.
  mlir::Value rankCount = {};

private:
  /// The reads of a block, which stand at its beginning.
  struct Reads {
    llvm::DenseMap<mlir::StringAttr, ReadOp> byVariable;
    ReadOp last;
  };

  /// Collected where a block is first read in: `entry` is another one behind accumulateGradients.
  llvm::DenseMap<mlir::Block *, Reads> readsOf;
  unsigned checks = 0;
};

/// Ends the entry with the sums of its gradients, times the weights of their losses where these
/// have some, and goes on in a second one that takes them and runs `runs` times less often.
void accumulateGradients(EntryUpdate &update, int64_t runs);

/// How large gradients are summed over the ranks.
struct Compression {
  /// Null: as they are.
  mlir::FloatType narrow = {};
  program::CollectiveKind kind = program::CollectiveKind::Sum;

  bool isOn() const { return narrow || kind != program::CollectiveKind::Sum; }
};

/// Puts the sums over the ranks in place of gradients, also where the entry returns them, and sets
/// the scale by which an update makes means of them, where that is not within the gradients. Large
/// gradients are compressed, in groups of their own.
void reduceGradients(EntryUpdate &update, const Compression &compression);
/// Gives `function` the stream of a group's gradients: the mean over the ranks of its element, of
/// computedElement.
mlir::Value addGradients(EntryUpdate &update, MultiTensorBuilder &function,
                         const ParameterGroup &group);

/// Sets the scalar that the body clips by, as the entry's `clip` asks, and the squares where the
/// loss is scaled.
void clipGradients(EntryUpdate &update);
/// What gradients of a norm, f64, are multiplied by, so that it is not above the limit; 0 where the
/// norm is not finite, so that only what made it so is not a number behind it. Of rank 0.
mlir::Value clipFactor(TensorBuilder &b, mlir::Value norm, mlir::Value limit);

/// Whether a sum of squares is of numbers that are finite.
mlir::Value isFinite(TensorBuilder &b, mlir::Value squares);
/// Where the loss is scaled, statistics and states keep elements that would not be finite.
void keepFinite(EntryUpdate &update);
/// What the update counts where the loss is scaled.
void countGuarded(EntryUpdate &update);

/// The update of a group; names of its scalars begin with `name`.
void applyRule(EntryUpdate &update, const ParameterGroup &group, llvm::StringRef name);

} // namespace dlc::dl

#endif
