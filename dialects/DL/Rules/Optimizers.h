//===- Optimizers.h - the rules that make a parameter's next value ------------------*- C++ -*-===//
//
// An optimizer is one rule: its settings with defaults and ranges, and a body, the formula of one
// element. Everything else is read from here: the language's built-in and its page, the attribute's
// verifier, and what dl-build-update builds. A body asks for slots and scalars by name, and those
// that it asks for exist: momentum 0 leaves out the slot because the formula has no use for it.
// What no formula of one element is, a norm or what products of a whole matrix make, it asks for
// too, and gets the element of it.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_RULES_OPTIMIZERS_H
#define DLC_DIALECTS_DL_RULES_OPTIMIZERS_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include <functional>

namespace dlc::dl {

/// Settings that mean the same in each rule: the one follows the schedule, and parameters have
/// factors of their own on both.
inline constexpr llvm::StringLiteral rateSetting = "learning_rate", decaySetting = "weight_decay";

struct OptimizerSetting {
  llvm::StringLiteral name;
  /// Without one it must be given.
  std::optional<double> defaultValue = {};
  /// True or false instead of a number.
  bool isFlag = false;
  /// Numbers are 0 or more; those with a limit are below it.
  std::optional<double> limit = {};
  /// What the language calls it and its neighbours together: betas=(0.9, 0.999).
  llvm::StringLiteral sequence = "";

  bool isAllowed(double value) const { return value >= 0 && !(limit && value >= *limit); }
  /// "0 or more", "0 or more and below 1"
  std::string describeRange() const;
};

/// What ops make of a matrix; of its shape and type.
using MatrixFunction = std::function<mlir::Value(TensorBuilder &, mlir::Value matrix)>;

/// What a body may ask for while it writes the formula of one element, all of rank 0. Settings that
/// are asked for as numbers are structure, compiled in; those asked for as values are given by the
/// runtime.
class OptimizerBody : public TensorBuilder {
public:
  OptimizerBody(mlir::OpBuilder &builder, mlir::Location loc, OptimizerAttr optimizer)
      : TensorBuilder{builder, loc}, optimizer(optimizer) {}
  virtual ~OptimizerBody() = default;

  /// The parameter before the update, and its gradient.
  virtual Value parameter() = 0;
  virtual Value gradient() = 0;
  /// The slot before the update, `first` before the first one.
  virtual Value slot(llvm::StringRef name, double first = 0) = 0;
  virtual void setSlot(llvm::StringRef name, Value value) = 0;
  /// A setting of the rule; those of rates and decay with the parameter's own factor.
  virtual Value setting(llvm::StringRef name) = 0;
  /// The L2 norm of `x`, an element, over the parameter that it belongs to, in f64: neither it nor
  /// a ratio of norms leaves the range that a narrower type has.
  virtual Value norm(Value x) = 0;
  /// The element of what `make` makes of `x` whole: of each parameter as a matrix, the first axis
  /// by all others, and in its shape and type. For parameters of two axes and more.
  virtual Value ofMatrix(Value x, MatrixFunction make) = 0;
  /// The number of updates so far, an i64.
  virtual Value step() = 0;

  Value number(double value) { return splatLike(parameter(), value); }
  /// 1 in the first update, of the parameter's type.
  Value updateNumber() { return castLike(shift(step(), 1), parameter()); }
  Value maximum(Value a, Value b) { return MaximumOp::create(builder, loc, a, b); }

  OptimizerAttr optimizer;
};

struct OptimizerRule {
  llvm::StringLiteral name;
  /// A line of the language's page.
  llvm::StringLiteral doc;
  /// In the order of the language.
  std::vector<OptimizerSetting> settings;
  using Body = mlir::Value (*)(OptimizerBody &);
  /// The parameter's next value; null where dlc has only the name so far.
  Body body = nullptr;
  /// A setting and why it does not fit the others, or nothing; `value` gives each.
  using Mistake = std::pair<llvm::StringRef, std::string>;
  std::optional<Mistake> (*check)(llvm::function_ref<double(llvm::StringRef)> value) = nullptr;
  /// What updates parameters of fewer than two axes, where `body` needs matrices.
  Body vectorBody = nullptr;

  Body bodyFor(int64_t axes) const { return vectorBody && axes < 2 ? vectorBody : body; }
  const OptimizerSetting *findSetting(llvm::StringRef name) const;
};

/// In the order of the language's page.
llvm::ArrayRef<OptimizerRule> optimizerRules();
/// Null: there is none of this name.
const OptimizerRule *findOptimizer(llvm::StringRef name);

} // namespace dlc::dl

#endif
