//===- Quads.cpp - see Quads.h ----------------------------------------------------------------===//
#include "codegen/CUDA/Text/Quads.h"

using namespace mlir;
using namespace dlc::codegen;

Value Quads::operand(unsigned number, StringRef place) {
  auto [it, isNew] = known.try_emplace(number);
  auto &[value, ownPlace] = it->second;
  if (isNew) {
    const std::string name = "a" + std::to_string(number);
    const Type element = function.spec.operandTypes()[number].getElementType();
    value = function.addValue(name, storedType(element));
    ownPlace = place.str();
    parameter(name, bufferName(function.spec, number), place, element);
  }
  return ownPlace == place ? value : Value();
}

Value Quads::linearOperand(unsigned number, const Point &point, const Point &own) {
  RankedTensorType type = function.spec.operandTypes()[number];
  if (!program::PhysicalLayout::get(type).rowMajor)
    return {};
  if (point == own && type.getNumElements() == product(own.shape))
    return operand(number, "i");
  std::optional<int64_t> period = function.periodOf(number, point);
  return period && *period % 4 == 0 ? operand(number, "i % " + std::to_string(*period)) : Value();
}

void Quads::parameter(StringRef name, StringRef buffer, StringRef place, Type element) {
  read.push_back({name.str(), buffer.str(), place.str(), storedTypeName(element)});
}

LogicalResult Quads::result(StringRef name, StringRef buffer, StringRef place, Type element,
                            Value value) {
  written.push_back({name.str(), buffer.str(), place.str(), storedTypeName(element)});
  return function.assign(name, element, value);
}

LogicalResult Quads::result(unsigned number, StringRef place, Value value) {
  const KernelSpec &spec = function.spec;
  return result("r" + std::to_string(number), bufferName(spec, spec.operandTypes().size() + number),
                place, spec.resultTypes()[number].getElementType(), value);
}

Quads::Text Quads::text(bool four) const {
  Text text;
  for (const Access &a : read) {
    const std::string access = a.buffer + "[" + a.place + "]";
    if (four)
      text.before += "    Quad<" + a.type + "> " + a.name + " = loadQuad(" + a.buffer + ", " +
                     a.place + ");\n";
    text.operands += ", " + (four ? a.name + ".v[l]" : access);
  }
  for (const Access &r : written) {
    text.before += "    " + (four ? "Quad<" + r.type + ">" : r.type) + " " + r.name + ";\n";
    text.results += ", " + r.name + (four ? ".v[l]" : "");
    text.after += four ? "    storeQuad(" + r.buffer + ", " + r.place + ", " + r.name + ");\n"
                       : "    " + r.buffer + "[" + r.place + "] = " + r.name + ";\n";
  }
  return text;
}

std::string Quads::mapMembers() const {
  const Text four = text(true), one = text(false);
  return "  __device__ void four(int i) const {\n" + four.before +
         "#pragma unroll\n    for (int l = 0; l < 4; ++l)\n      body(i + l" + four.operands +
         four.results + ");\n" + four.after + "  }\n  __device__ void one(int i) const {\n" +
         one.before + "    body(i" + one.operands + one.results + ");\n" + one.after + "  }\n";
}
