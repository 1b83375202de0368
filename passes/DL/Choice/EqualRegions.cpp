//===- EqualRegions.cpp - see EqualRegions.h --------------------------------------------------===//
#include "passes/DL/Choice/EqualRegions.h"

using namespace mlir;
using namespace dlc::dl;

size_t dlc::dl::hashOfRegion(FusedOp fused) {
  llvm::hash_code hash =
      llvm::hash_combine_range(fused->operand_type_begin(), fused->operand_type_end());
  for (Operation &op : fused.getBody().front())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  return hash;
}

bool dlc::dl::haveEqualRegions(FusedOp a, FusedOp b) {
  llvm::DenseMap<Value, Value> equal;
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getBody(), &b.getBody(), [&](Value x, Value y) { return success(equal.lookup(x) == y); },
      [&](Value x, Value y) { equal[x] = y; }, OperationEquivalence::IgnoreLocations);
}
