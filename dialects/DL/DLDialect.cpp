//===- DLDialect.cpp - registration of the dl dialect ---------------------------------------------------------------===//
#include "dialects/DL/DL.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace dlc::dl;

#include "dialects/DL/DLDialect.cpp.inc"
#include "dialects/DL/DLEnums.cpp.inc"
#include "dialects/DL/DLInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/DL/DLAttrs.cpp.inc"

void DLDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/DL/DLAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/DL/DLOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialects/DL/DLOps.cpp.inc"
