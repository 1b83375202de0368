// What a built-in's function is given: its arguments by name, checked and converted by the row of
// the table.
#ifndef DLC_FRONTEND_DL_BUILTINS_CALL_H
#define DLC_FRONTEND_DL_BUILTINS_CALL_H

#include "frontend/DL/Evaluation/TensorOps.h"

namespace dlc::frontend {

class Call : public Site {
public:
  Call(Evaluator &evaluator, const Builtin &builtin, SourceRange range,
       std::vector<EvaluatedArgument> slots)
      : Site(evaluator, range, builtin.nameWord(), builtin.name.str()), builtin(builtin),
        slots(std::move(slots)) {}

  // ---- arguments; the name is one of the row's
  const Value &value(llvm::StringRef name) const { return slot(name).value; }
  /// Of the argument, or of the callee's name where the default holds.
  SourceRange rangeOf(llvm::StringRef name) const { return slot(name).range; }
  const Tensor &tensor(llvm::StringRef name) const { return value(name).as<Tensor>(); }
  int64_t integer(llvm::StringRef name) const { return value(name).integer(); }
  double number(llvm::StringRef name) const { return value(name).number(); }
  bool flag(llvm::StringRef name) const { return value(name).as<bool>(); }
  llvm::StringRef string(llvm::StringRef name) const { return value(name).as<std::string>(); }
  bool isNone(llvm::StringRef name) const { return value(name).isNone(); }
  Operand operand(llvm::StringRef name) const { return {slot(name).value, slot(name).range}; }
  /// One integer, or several, as they were given.
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  /// An integer for all, or one each: `count` numbers of at least `least`. False after an error.
  bool integers(llvm::StringRef name, size_t count, int64_t least,
                llvm::SmallVectorImpl<int64_t> &result);
  /// The number of an axis of `x`, or of what has `added` more, from -rank to rank - 1, made
  /// positive. False after an error.
  bool axis(llvm::StringRef name, const Tensor &x, int64_t &result, int64_t added = 0);
  /// Reports that `x` has no axis `given`.
  Value failAxis(llvm::StringRef argument, int64_t given, const Tensor &x);

  /// Whether none of the argument's numbers stands in the program and is not one from 0 to `count`
  /// - 1, or `ignored`. False after an error.
  bool checkNumbers(llvm::StringRef name, int64_t count, std::optional<int64_t> ignored = {});
  /// The same, and numbers that are given when the program runs will be checked then.
  bool markNumbers(llvm::StringRef name, int64_t count, std::optional<int64_t> ignored = {});

  /// Reports at an argument; poison.
  Value fail(llvm::StringRef argument, const llvm::Twine &message, const llvm::Twine &hint = "");

  // ---- weights of a layer
  /// Declares path.name, or finds it where the layer is shared. `standard` is used where no `init`,
  /// or no `bias_init` for what is named bias..., is given.
  std::optional<Tensor> weight(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                               mlir::Type element, const Value &standard, int64_t fanIn,
                               int64_t fanOut);

  /// A statistic of the layer, `shape` numbers that begin as `first`.
  std::optional<Tensor> statistic(llvm::StringRef name, int64_t count, mlir::Type element,
                                  double first) {
    return evaluator.statistic(path() + "." + name.str(),
                               mlir::RankedTensorType::get({count}, element), first, range,
                               location());
  }

  /// The path is given from outside, by `name="x"` or a shared layer; `place` is where.
  void setPath(std::string path, SourceRange place) {
    takenPath = std::move(path);
    hasPath = true;
    nameRange = place;
  }

  const Builtin &builtin;
  LayerAttributes attributes;
  /// Which weights of its own the layer has asked for: what `init` and `bias_init` are for.
  bool makesWeight = false, makesBias = false;

private:
  const EvaluatedArgument &slot(llvm::StringRef name) const;
  /// Where the name was given; invalid if it was counted.
  SourceRange nameRange;
  std::vector<EvaluatedArgument> slots;
};

/// The call as data: the function of plans whose arguments need no check.
Value keep(Call &call);

/// The argument `shape`: sizes of 0 or more; once -1 if `mayBeOpen`. False after an error.
bool readShape(Call &call, bool mayBeOpen, llvm::SmallVectorImpl<int64_t> &shape);

/// The argument `name`, from 0 to below 1. False after an error.
bool readDropout(Call &call, llvm::StringRef name, double &rate);
/// `x` with elements zeroed at random in training and the others scaled by 1 / (1 - rate).
Tensor applyDropout(Call &call, const Tensor &x, double rate);

/// The argument `axes` of a reduction, increasing and without repeats; none means all of `x`. False
/// after an error.
bool readAxes(Call &call, const Tensor &x, llvm::SmallVectorImpl<int64_t> &axes);

} // namespace dlc::frontend

#endif
