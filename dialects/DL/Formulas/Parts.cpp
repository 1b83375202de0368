//===- Parts.cpp - see Parts.h ----------------------------------------------------------------===//
#include "dialects/DL/Formulas/Parts.h"
#include "dialects/DL/Ops/DLIndexOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

Value lookUp(TensorBuilder &b, Value table, Value index, std::optional<int64_t> padding) {
  Value rows = GatherOp::create(b.builder, b.loc, table, index, 0);
  if (!padding)
    return rows;
  Value isPadding = b.compare(Predicate::EQ, index, b.splatLike(index, double(*padding)));
  const int64_t last = b.typeOf(index).getRank();
  return b.dropWhere(b.broadcastOver(isPadding, b.typeOf(rows), {last}), rows);
}

Value padWith(TensorBuilder &b, Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> before,
              double value) {
  SmallVector<int64_t> steps(shape.size(), 1);
  auto padded = [&](Value inner) -> Value {
    return PadOp::create(b.builder, b.loc, b.typeOf(inner).clone(shape), inner, before, steps);
  };
  Value y = padded(x);
  if (value == 0)
    return y;
  Value inside = padded(b.splat(b.typeOf(x).clone(b.builder.getI1Type()), 1));
  return b.select(inside, y, b.splatLike(y, value));
}

} // namespace dlc::dl::formulas
