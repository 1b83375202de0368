// Words for values and types.
#include "frontend/DL/Evaluation/Value.h"
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/Lexer.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

namespace dlc::frontend {

llvm::StringRef spelling(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::U8:
    return "u8";
  case DType::Bool:
    return "bool";
  case DType::TF32:
    return "tf32";
  }
  return "";
}

DType parseDType(llvm::StringRef name) {
  return llvm::StringSwitch<DType>(name)
      .Case("f64", DType::F64)
      .Case("bf16", DType::BF16)
      .Case("f16", DType::F16)
      .Case("i32", DType::I32)
      .Case("i64", DType::I64)
      .Case("u8", DType::U8)
      .Case("bool", DType::Bool)
      .Case("tf32", DType::TF32)
      .Default(DType::F32);
}

bool isFloat(DType dtype) { return dtype <= DType::F16; }

bool isElement(DType dtype) { return dtype != DType::TF32; }

bool isPrecision(DType dtype) {
  return dtype == DType::TF32 || (isFloat(dtype) && dtype != DType::F64);
}

mlir::Type elementType(DType dtype, mlir::MLIRContext *context) {
  mlir::Builder b(context);
  switch (dtype) {
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F16:
    return b.getF16Type();
  case DType::I32:
    return b.getI32Type();
  case DType::I64:
    return b.getI64Type();
  case DType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case DType::Bool:
    return b.getI1Type();
  case DType::TF32:
    return b.getTF32Type();
  }
  return {};
}

DType dtypeOf(mlir::Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  if (type.isInteger(64))
    return DType::I64;
  if (type.isInteger(8))
    return DType::U8;
  return type.isInteger(1) ? DType::Bool : DType::I32;
}

Value::Value(std::vector<Value> items) {
  unsigned depth = 0;
  for (const Value &item : items)
    depth = std::max(depth, item.depth());
  const size_t count = items.size();
  data = std::make_shared<const SequenceValue>(
      SequenceValue{std::move(items), nullptr, count, depth + 1});
}

std::string describe(mlir::RankedTensorType type) {
  std::string text = spelling(dtypeOf(type.getElementType())).str() + "[";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string withBatch(const Tensor &tensor) {
  return (spelling(tensor.dtype()) + "[" + sizesWithBatch(tensor) + "]").str();
}

std::string sizesWithBatch(const Tensor &tensor, int64_t leftOut) {
  std::string text;
  for (auto [i, size] : llvm::enumerate(tensor.shape())) {
    bool isBatch = tensor.batch.isPlain() && int64_t(i) == tensor.batch.axis;
    if (int64_t(i) != leftOut)
      text += (text.empty() ? "" : ", ") + (isBatch ? "N" : std::to_string(size));
  }
  return text;
}

std::string joinSizes(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (auto [i, size] : llvm::enumerate(sizes))
    text += (i ? "x" : "") + std::to_string(size);
  return text;
}

std::string counted(size_t count, llvm::StringRef thing) {
  return std::to_string(count) + " " + thing.str() + (count == 1 ? "" : "s");
}

std::string text(double number) {
  llvm::SmallString<32> buffer;
  // The shortest of these that reads back as the same number.
  for (int digits = 6; digits <= 17; ++digits) {
    char written[40];
    std::snprintf(written, sizeof written, "%.*g", digits, number);
    buffer = written;
    if (std::strtod(written, nullptr) == number)
      break;
  }
  bool looksInteger = buffer.str().find_first_not_of("-0123456789") == llvm::StringRef::npos;
  return buffer.str().str() + (looksInteger ? ".0" : "");
}

/// A string as one would write it, cut if it is long.
static std::string quoted(llvm::StringRef value) {
  std::string result = "\"";
  for (unsigned characters = 0; !value.empty(); ++characters) {
    if (characters == 40)
      return result + "...\"";
    size_t size = std::max<size_t>(
        1, value.drop_front().find_if([](char c) { return (c & 0xC0) != 0x80; }) + 1);
    llvm::StringRef character = value.take_front(size);
    value = value.drop_front(character.size());
    if (character == "\n")
      result += "\\n";
    else if (character == "\t")
      result += "\\t";
    else
      result += (character == "\"" || character == "\\" ? "\\" : "") + character.str();
  }
  return result + "\"";
}

std::string text(const Value &value) {
  if (auto *v = value.getIf<int64_t>())
    return std::to_string(*v);
  if (auto *v = value.getIf<double>())
    return text(*v);
  if (auto *v = value.getIf<bool>())
    return *v ? "true" : "false";
  if (auto *v = value.getIf<std::string>())
    return quoted(*v);
  if (auto *v = value.getIf<DType>())
    return spelling(*v).str();
  if (value.isNone())
    return "none";
  return describe(value);
}

std::string describe(const Value &value) {
  if (value.isInteger())
    return "the integer " + text(value);
  if (value.is<double>())
    return "the float " + text(value);
  if (value.is<bool>())
    return "the bool " + text(value);
  if (value.is<std::string>())
    return "the string " + text(value);
  if (auto *v = value.getIf<DType>())
    return (isElement(*v) ? "the dtype " : "the precision ") + text(value);
  if (value.isNone())
    return "none";
  if (value.isSequence())
    return "a sequence of " + std::to_string(value.items().size());
  if (auto *tensor = value.getIf<Tensor>())
    return "the tensor " + describe(tensor->type());
  if (auto *plan = value.getIf<Plan>())
    return "the " + describe((*plan)->maker->category).str() + " " + (*plan)->maker->name.str();
  if (auto *callable = value.getIf<Callable>()) {
    if (callable->builtin)
      return "the function " + callable->builtin->name.str();
    if (callable->block)
      return (callable->block->isModel ? "the model " : "the block ") +
             callable->block->name.text.str();
    return callable->layer ? "a layer" : "a model";
  }
  return "nothing";
}

std::string hintForPrecision(const Value &value) {
  const std::string *word = value.getIf<std::string>();
  if (!word)
    return "";
  const bool isPrecision =
      llvm::is_contained(dtypeWords(), *word) || *word == spelling(DType::TF32);
  return isPrecision ? "without '\"': " + *word : hintForType(*word);
}

std::string hintForResults(const Value &value, llvm::StringRef source) {
  const Builtin *maker = value.isSequence() ? value.as<Sequence>()->maker : nullptr;
  if (!maker)
    return "";
  llvm::StringRef names = llvm::StringSwitch<llvm::StringRef>(maker->name)
                              .Case("lstm", "output, h, c")
                              .Case("gru", "output, state")
                              .Cases({"sort", "top_k"}, "values, indices")
                              .Default("first, second");
  return ("it is (" + names + ") of " + maker->name + ": " + names + " = " + maker->name +
          "(...), or " + (source.empty() ? "[0] of it" : (source + "[0]").str()))
      .str();
}

const Value &PlanValue::get(llvm::StringRef parameter) const {
  for (auto [param, argument] : llvm::zip(maker->params, arguments))
    if (param.name == parameter)
      return argument;
  llvm_unreachable("a builder names only the parameters of its row");
}

double PlanValue::number(llvm::StringRef parameter) const {
  const Value &value = get(parameter);
  if (auto *flag = value.getIf<bool>())
    return *flag;
  return value.number();
}

} // namespace dlc::frontend
