//===- Quads.cpp - see Quads.h ----------------------------------------------------------------===//
#include "codegen/CUDA/Quads.h"

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

void Quads::parameter(StringRef name, StringRef buffer, StringRef place, Type element) {
  read.push_back({name.str(), buffer.str(), place.str(), storedTypeName(element)});
}

LogicalResult Quads::result(StringRef name, StringRef buffer, StringRef place, Type element,
                            Value value) {
  written.push_back({name.str(), buffer.str(), place.str(), storedTypeName(element)});
  return function.assign(name, element, value);
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
