//===- Rows.h - rows of a tensor that reductions combine ----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_ROWS_H
#define DLC_DIALECTS_DL_FACTS_ROWS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
/// Whether one loop nest serves both: equal shapes are combined along equal axes.
bool shareLoops(ReductionOp a, ReductionOp b);

/// `count` rows of `length` elements each, one behind the other.
struct Rows {
  int64_t count, length;

  bool operator==(const Rows &) const = default;
};

/// The rows that the reduction combines to one element each; nothing where it combines what does
/// not stand in one piece, or one element only.
std::optional<Rows> rowsOf(ReductionOp op);
/// The same for rows of `mostBytes` at most: with those that a core's cache holds several of, what
/// is read of a row to combine it is still at hand when that is done.
std::optional<Rows> cachedRowsOf(ReductionOp op, int64_t mostBytes);
/// Whether the op gives each element of its operand to a whole row.
bool spreadsOverRows(IndexOp op, Rows rows);
} // namespace dlc::dl

#endif
