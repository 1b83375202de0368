// The values of the model language.
//
// Everything but a tensor is known while the model is evaluated: numbers, strings, sequences,
// callables, and plan values (an optimizer, an initialiser, a schedule, a clip: a call kept as
// data). A tensor is a value of the entry that is being built, with what the language knows beyond
// its type: where the batch lies, whether it depends on the data, how it was made, and for scalars
// how it adds up over batches.
//
// A value whose making failed is Poison: whoever meets it stays silent.
#ifndef DLC_FRONTEND_DL_EVALUATION_VALUE_H
#define DLC_FRONTEND_DL_EVALUATION_VALUE_H

#include "frontend/DL/Syntax/AST.h"

#include "dialects/DL/Builders/EntryBuilder.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <variant>

namespace dlc::frontend {

using dl::BatchAxis;
using dl::EntryBuilder;
using dl::MetricTerm;
using dl::MetricTerms;

struct Builtin;
struct Module;
struct LayerInstance;
struct ModelInstance;
class Value;

/// TF32 is a precision alone: tensors of f32, which libraries may round where they multiply.
enum class DType : uint8_t { F32, F64, BF16, F16, I32, I64, U8, Bool, TF32 };

llvm::StringRef spelling(DType dtype);
DType parseDType(llvm::StringRef name);
bool isFloat(DType dtype);
/// Whether tensors have it.
bool isElement(DType dtype);
/// Whether products can compute in it.
bool isPrecision(DType dtype);
inline constexpr llvm::StringLiteral precisionList = "f32, bf16, f16 or tf32";
mlir::Type elementType(DType dtype, mlir::MLIRContext *context);
DType dtypeOf(mlir::Type elementType);

// ----------------------------------------------------------------------------------------- tensors

/// One activation of a block or model, for messages: "in stage1.Bottleneck1, called at
/// resnet.dl:16:9".
struct CallFrame {
  const CallFrame *parent = nullptr;
  SourceRange range;
  llvm::StringRef callee;
  std::string path; ///< empty for what has no name in the model

  /// What notes call it.
  std::string name() const { return path.empty() ? callee.str() : path; }
};

/// How a tensor came to be, for notes.
struct Origin {
  SourceRange range;
  /// "this conv2d", or the name of an input or field.
  std::string what;
  bool isDeclaration = false;
  /// What it was there; a cast keeps the origin of the shape.
  DType dtype = DType::F32;
  const CallFrame *frame = nullptr;
};

struct Tensor {
  mlir::Value value;
  BatchAxis batch;
  /// Depends on an input or field.
  bool hasData = false;
  /// Set if the tensor is a sum of multiples of batch reductions, so that it adds up over batches
  /// and ranks.
  std::shared_ptr<const MetricTerms> terms;
  /// What is applied to the sum of the terms; only `None` adds up further.
  program::Finish finish = program::Finish::None;
  const Origin *origin = nullptr;
  /// "softmax" or "sigmoid", if the tensor is the result of one.
  llvm::StringRef activation = {};

  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  DType dtype() const { return dtypeOf(type().getElementType()); }
};

/// "f32[64, 3, 224, 224]"
std::string describe(mlir::RankedTensorType type);
/// "f32[N, 3, 224, 224]", as one would declare it.
std::string withBatch(const Tensor &tensor);
/// Its sizes alone, but for one axis: "N, 224, 224".
std::string sizesWithBatch(const Tensor &tensor, int64_t leftOut = -1);
/// "224x224"
std::string joinSizes(llvm::ArrayRef<int64_t> sizes);

// ------------------------------------------------------------------------------------ other values

/// What can be called. Exactly one pointer is set.
struct Callable {
  const Builtin *builtin = nullptr;
  const ast::Block *block = nullptr;
  LayerInstance *layer = nullptr;
  ModelInstance *model = nullptr;
  /// The file of `block`.
  Module *module = nullptr;
};

/// The call of an optimizer, initialiser, schedule or clip, kept as data: one value per parameter
/// of `maker`.
struct PlanValue {
  const Builtin *maker;
  std::vector<Value> arguments;
  std::vector<SourceRange> ranges;
  SourceRange range;

  const Value &get(llvm::StringRef parameter) const;
  double number(llvm::StringRef parameter) const;
};
using Plan = std::shared_ptr<const PlanValue>;
struct SequenceValue;
using Sequence = std::shared_ptr<const SequenceValue>;

struct Poison {};
struct NoneValue {};

class Value {
public:
  Value() = default;
  Value(Poison) {}
  Value(NoneValue v) : data(v) {}
  Value(bool v) : data(v) {}
  Value(int v) : data(int64_t(v)) {}
  Value(int64_t v) : data(v) {}
  Value(double v) : data(v) {}
  Value(std::string v) : data(std::move(v)) {}
  Value(const char *v) : data(std::string(v)) {}
  Value(DType v) : data(v) {}
  Value(std::vector<Value> items);
  Value(Sequence v) : data(std::move(v)) {}
  Value(Callable v) : data(v) {}
  Value(Plan v) : data(std::move(v)) {}
  Value(Tensor v) : data(std::move(v)) {}

  template <typename T> bool is() const { return std::holds_alternative<T>(data); }
  template <typename T> const T &as() const { return std::get<T>(data); }
  template <typename T> const T *getIf() const { return std::get_if<T>(&data); }

  bool isPoison() const { return is<Poison>(); }
  bool isNone() const { return is<NoneValue>(); }
  bool isInteger() const { return is<int64_t>(); }
  bool isNumber() const { return is<int64_t>() || is<double>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isSequence() const { return is<Sequence>(); }
  int64_t integer() const { return as<int64_t>(); }
  /// Of an integer or a float.
  double number() const { return isInteger() ? double(as<int64_t>()) : as<double>(); }
  llvm::ArrayRef<Value> items() const;
  /// Of a sequence: 1 + that of its deepest element; 0 for all others.
  unsigned depth() const;

private:
  std::variant<Poison, NoneValue, bool, int64_t, double, std::string, DType, Sequence, Callable,
               Plan, Tensor>
      data;
};

struct SequenceValue {
  std::vector<Value> items;
  /// Instead of `items`: the first `count` elements of a list of the program, which grows at its
  /// end and never moves.
  std::vector<Value> *list = nullptr;
  size_t count;
  unsigned depth;
  /// The built-in whose results these are, if they are.
  const Builtin *maker = nullptr;
};

inline llvm::ArrayRef<Value> Value::items() const {
  const SequenceValue &sequence = *as<Sequence>();
  const std::vector<Value> &items = sequence.list ? *sequence.list : sequence.items;
  return llvm::ArrayRef(items.data(), sequence.count);
}
inline unsigned Value::depth() const { return isSequence() ? as<Sequence>()->depth : 0; }

/// What a message calls the value: "the integer 3", "a sequence of 2", "the tensor f32[64, 10]".
std::string describe(const Value &value);
/// What to do with the results of a built-in where one of them is meant; else empty.
std::string hintForResults(const Value &value, llvm::StringRef source = "");
/// What a word in quotes may mean where a precision is expected.
std::string hintForPrecision(const Value &value);
/// The value as one would write it, for numbers, strings, bools, none and dtypes; else as
/// `describe`.
std::string text(const Value &value);
/// "1 argument", "2 arguments"
std::string counted(size_t count, llvm::StringRef thing);
/// A float as one would write it: "24.0", "1e-05".
std::string text(double number);

} // namespace dlc::frontend

#endif
