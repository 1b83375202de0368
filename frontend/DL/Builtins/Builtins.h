// The built-ins as a table: one row and one function each.
//
// A row states the name, the parameters with kinds and defaults, a line of documentation and the
// function that builds the value. Arguments are bound, checked and converted by the kinds of the
// row before the function runs, so a builder only checks what is special to it. A row without a
// function is a built-in of the language that dlc lacks so far: calling it is the error "X is not
// available yet".
#ifndef DLC_FRONTEND_DL_BUILTINS_BUILTINS_H
#define DLC_FRONTEND_DL_BUILTINS_BUILTINS_H

#include "frontend/DL/Evaluation/Value.h"

namespace dlc::frontend {

class Call;

enum class Category : uint8_t {
  /// Owns weights; takes all layer attributes.
  Layer,
  /// From tensors to tensors (some also from numbers to numbers); takes `name`.
  Function,
  /// Makes a tensor from nothing, or knows the phase: needs an entry. Takes `name`.
  Source,
  Loss,
  Metric,
  /// Only compile-time values; takes no attribute.
  CompileTime,
  Optimizer,
  Schedule,
  Clip,
  Initialiser,
};

llvm::StringRef describe(Category category);

enum class ParamKind : uint8_t {
  Any,
  Tensor,
  /// A tensor of a floating dtype.
  FloatTensor,
  /// A tensor of i32 or i64.
  IndexTensor,
  Integer,
  /// An integer or a float.
  Number,
  Bool,
  String,
  DType,
  Sequence,
  /// An integer, or a sequence of integers.
  Integers,
};

struct BuiltinParam {
  llvm::StringLiteral name;
  ParamKind kind;
  /// Poison: the parameter is required.
  Value defaultValue = {};
  /// Takes `none` too.
  bool orNone = false;

  bool isRequired() const { return defaultValue.isPoison(); }
};

struct Builtin {
  llvm::StringLiteral name;
  Category category;
  std::vector<BuiltinParam> params;
  llvm::StringLiteral doc;
  Value (*build)(Call &call);
  /// The word in names of weights, if it is not `name`.
  llvm::StringLiteral word = "";
  /// Arguments that may be given by position, if it is not what the category says.
  std::optional<unsigned> positional = {};

  /// What names a call of it: "conv" for conv2d.
  llvm::StringRef nameWord() const { return word.empty() ? name : word; }
  /// How many arguments may be given by position. The others are given by name, where a number
  /// without one would be taken for something else: by people who know another order, or because
  /// there are two ways to count.
  unsigned byPosition() const;
  /// "conv2d(x, channels, kernel, *, stride=1, padding=0, ...)": by name behind the '*'.
  std::string signature() const;
};

/// A default as one writes it.
std::string defaultText(const BuiltinParam &param);

/// All rows, in the order of the language's page.
llvm::ArrayRef<Builtin> builtins();
const Builtin *findBuiltin(llvm::StringRef name);
/// Of all rows, or of those of a category that are available.
llvm::SmallVector<llvm::StringRef> builtinNames();
llvm::SmallVector<llvm::StringRef> availableNames(Category category);
/// "uniform, normal, truncated_normal"
std::string availableList(Category category);
/// For a value where a call of a built-in of `category` is expected: a function that is not called,
/// or its name in quotes. May be empty.
std::string hintForPlan(const Value &value, Category category);

/// The rows as tables for documentation, one for each category, in Markdown.
std::string builtinTables();

struct BuiltinConstant {
  llvm::StringLiteral name;
  Value value;
};
llvm::ArrayRef<BuiltinConstant> builtinConstants();

/// Attributes of calls: `name` for all with tensors, the others for layers, blocks and models.
llvm::ArrayRef<llvm::StringLiteral> layerAttributeNames();
bool isLayerAttribute(llvm::StringRef name);

/// The rows of each file; put together by `builtins`.
std::vector<Builtin> layerBuiltins();
std::vector<Builtin> recurrentBuiltins();
std::vector<Builtin> normBuiltins();
std::vector<Builtin> elementwiseBuiltins();
std::vector<Builtin> tensorBuiltins();
/// Of the rows of tensors.
std::vector<Builtin> partBuiltins();
std::vector<Builtin> orderBuiltins();
std::vector<Builtin> randomBuiltins();
std::vector<Builtin> pixelBuiltins();
std::vector<Builtin> lossBuiltins();
std::vector<Builtin> compileTimeBuiltins();
std::vector<Builtin> planBuiltins();
std::vector<Builtin> optimizerBuiltins();

} // namespace dlc::frontend

#endif
