//===- DLVariableOps.cpp - variables, and how entries read and assign them --------------------===//
#include "dialects/DL/Ops/DLVariableOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

static bool sameLogicalType(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getShape() == y.getShape() && x.getElementType() == y.getElementType();
}

/// Whether what is of type `to` can begin as a copy of what is of type `from`.
static bool holds(RankedTensorType to, RankedTensorType from) {
  return sameLogicalType(to, from) ||
         (to.getShape() == from.getShape() && to.getElementType().isF32() &&
          from.getElementType().isFloat(16));
}

RankedTensorType VariableOp::getTensorType() { return cast<RankedTensorType>(getType()); }

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  bool isCopy = getInit().getKind() == program::InitialiserKind::Copy;
  if (!getOf())
    return isCopy ? emitOpError("(C2) the initialiser 'copy' needs 'of'") : success();
  if (getRole() != program::Role::Slot)
    return emitOpError("(C1) 'of' is for slots, but the role is ")
           << program::stringifyRole(getRole());
  auto of = symbols.lookupNearestSymbolFrom<VariableOp>(*this, getOfAttr());
  if (!of || of.getRole() != program::Role::Parameter)
    return emitOpError("(C1) ") << getOfAttr() << " is not a parameter of this module";
  bool isSame = isCopy ? holds(getTensorType(), of.getTensorType())
                       : of.getTensorType().getShape() == getTensorType().getShape();
  if (!isSame) {
    InFlightDiagnostic error = emitOpError(isCopy ? "(C2) has type " : "(C1) has type ")
                               << getTensorType() << ", but its parameter has "
                               << of.getTensorType();
    error.attachNote(of.getLoc()) << "the parameter is here";
    return error;
  }
  return success();
}

/// A read or an assignment of `name` with `type`.
static LogicalResult verifyVariableUse(Operation *op, FlatSymbolRefAttr name, Type type,
                                       SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitOpError("(C1) ") << name << " is not a variable of this module";
  if (!sameLogicalType(variable.getTensorType(), type)) {
    InFlightDiagnostic error = op->emitOpError("(C1) has type ")
                               << type << ", but " << name << " has " << variable.getTensorType();
    error.attachNote(variable.getLoc()) << "the variable is here";
    return error;
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, getVariableAttr(), getResult().getType(), symbols);
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariableUse(*this, getVariableAttr(), getValue().getType(), symbols);
}
