//===- DLFusedOps.cpp - regions that passes build ---------------------------------------------===//
#include "dialects/DL/Ops/DLFusedOps.h"

using namespace mlir;
using namespace dlc::dl;

LogicalResult FusedOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperation()->getOperandTypes())
    return emitOpError("(C1) the body takes (")
           << body.getArgumentTypes() << "), but the operands are ("
           << getOperation()->getOperandTypes() << ")";
  Operation *yield = body.getTerminator();
  if (yield->getOperandTypes() != getOperation()->getResultTypes())
    return emitOpError("(C2) the body yields (")
           << yield->getOperandTypes() << "), but the results are ("
           << getOperation()->getResultTypes() << ")";
  for (Operation &op : body)
    if (!isa<DLDialect>(op.getDialect()) || !isPure(&op)) {
      InFlightDiagnostic error = emitOpError("(C3) the body may hold pure dl ops only");
      error.attachNote(op.getLoc()) << op.getName() << " is here";
      return error;
    }
  return success();
}
