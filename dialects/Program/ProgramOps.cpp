//===- ProgramOps.cpp - what a program says beside its entries --------------------------------===//
#include "dialects/Program/ProgramOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dlc::program;

LogicalResult SettingsOp::verify() {
  SettingsOp first = *cast<ModuleOp>((*this)->getParentOp()).getOps<SettingsOp>().begin();
  if (first == *this)
    return success();
  InFlightDiagnostic error = emitOpError("(C1) is the second of its module");
  error.attachNote(first.getLoc()) << "the first is here";
  return error;
}

SettingsOp SettingsOp::getOrCreate(ModuleOp module) {
  for (auto settings : module.getOps<SettingsOp>())
    return settings;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return SettingsOp::create(builder, module.getLoc(), IntegerAttr(), IntegerAttr(), IntegerAttr());
}

#define GET_OP_CLASSES
#include "dialects/Program/ProgramOps.cpp.inc"
