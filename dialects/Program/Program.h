//===- Program.h - the program dialect: what dl and exec both say -------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_PROGRAM_PROGRAM_H
#define DLC_DIALECTS_PROGRAM_PROGRAM_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include <algorithm>

#include "dialects/Program/ProgramDialect.h.inc"
#include "dialects/Program/ProgramEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Program/ProgramAttrs.h.inc"

namespace dlc::program {

/// Every buffer begins at a multiple of this many bytes (DLC_ALIGNMENT of the module ABI).
inline constexpr int64_t alignment = 64;

/// Whether an entry uses a model: it runs many times between two changes of the parameters.
inline bool usesModel(EntryKind kind) {
  return kind == EntryKind::Evaluate || kind == EntryKind::Infer;
}

/// Unit attribute of a module that several ranks train together: passes add what they exchange.
inline constexpr llvm::StringRef dataParallelName = "program.data_parallel";

/// Elements that a compressed sum looks at together, and how many of them sum_top_k sends
/// (DLC_SUM_BLOCK, DLC_SUM_TOP of the module ABI).
inline constexpr int64_t sumBlock = 1024, sumTop = 10;

/// Bytes that a rank sends of `elements` elements of `elementBytes` bytes. One bit each, and two
/// numbers for a block; or some numbers of each block, and their places.
inline int64_t bytesSent(CollectiveKind kind, int64_t elements, int64_t elementBytes) {
  const int64_t blocks = (elements + sumBlock - 1) / sumBlock, last = elements % sumBlock;
  switch (kind) {
  case CollectiveKind::SumOneBit:
    return blocks * 8 + (elements + 7) / 8;
  case CollectiveKind::SumTopK:
    return (elements / sumBlock * sumTop + std::min(sumTop, last)) * 6;
  case CollectiveKind::Sum:
    break;
  }
  return elements * elementBytes;
}

} // namespace dlc::program

#endif
