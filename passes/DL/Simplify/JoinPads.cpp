//===- JoinPads.cpp - tensors of zeros around pieces, added up --------------------------------===//
//
//   %a = dl.pad %x low = [0, 0] ...: tensor<1x5xf32> to tensor<4x5xf32>
//   %b = dl.pad %y low = [2, 0] ...: tensor<2x5xf32> to tensor<4x5xf32>
//   %s = dl.add %a, %b
// ->
//   %z = dl.constant dense<0.0> : tensor<1x5xf32>
//   %s = dl.concat %x, %z, %y axis = 0
//
// The gradients of the steps of a sequence are such pads: added one by one, n steps would cost n
// times the whole sequence.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Simplify/JoinPads.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <queue>

using namespace mlir;
using namespace dlc::dl;

namespace {
/// What is padded along one axis.
struct Piece {
  int64_t begin, size;
  Value value;
  int64_t end() const { return begin + size; }
};

/// Pieces of one result that lie side by side.
struct Row {
  RankedTensorType type;
  int64_t axis;
  SmallVector<Piece> pieces;

  Value build(OpBuilder &builder, Location loc) const;
};
} // namespace

static RankedTensorType withSize(RankedTensorType type, int64_t axis, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = size;
  return type.clone(shape);
}

Value Row::build(OpBuilder &builder, Location loc) const {
  SmallVector<Value> parts;
  int64_t end = 0;
  auto fill = [&](int64_t until) {
    if (until > end)
      parts.push_back(
          ConstantOp::createSplat(builder, loc, withSize(type, axis, until - end), 0.0));
  };
  for (const Piece &piece : pieces) {
    fill(piece.begin);
    parts.push_back(piece.value);
    end = piece.end();
  }
  fill(type.getDimSize(axis));
  return ConcatOp::create(builder, loc, parts, axis);
}

/// The one axis along which there are zeros, and none between elements; nothing if there is no such
/// axis.
static std::optional<int64_t> paddedAxis(PadOp pad) {
  auto x = cast<RankedTensorType>(pad.getX().getType());
  auto y = cast<RankedTensorType>(pad.getType());
  std::optional<int64_t> padded;
  for (int64_t axis = 0; axis < y.getRank(); ++axis) {
    if (x.getDimSize(axis) == y.getDimSize(axis))
      continue;
    if (padded || (pad.getSteps()[axis] != 1 && x.getDimSize(axis) > 1))
      return std::nullopt;
    padded = axis;
  }
  return padded;
}

/// As many rows as pieces overlap at most; `pieces` in the order of their beginnings.
static SmallVector<Row> arrange(RankedTensorType type, int64_t axis, ArrayRef<Piece> pieces) {
  SmallVector<Row> rows;
  using End = std::pair<int64_t, size_t>; // of a row
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (const Piece &piece : pieces) {
    size_t row = rows.size();
    if (!ends.empty() && ends.top().first <= piece.begin) {
      row = ends.top().second;
      ends.pop();
    } else {
      rows.push_back({type, axis, {}});
    }
    rows[row].pieces.push_back(piece);
    ends.emplace(piece.end(), row);
  }
  return rows;
}

SmallVector<Value> dlc::dl::joinPads(OpBuilder &builder, Location loc,
                                     MutableArrayRef<PadOp> pads) {
  if (pads.size() == 1)
    return {pads.front().getY()};
  auto type = cast<RankedTensorType>(pads.front().getType());
  SmallVector<Value> sums;
  llvm::MapVector<int64_t, std::map<std::pair<int64_t, int64_t>, Value>> byAxis;
  for (PadOp pad : pads) {
    std::optional<int64_t> axis = paddedAxis(pad);
    if (!axis) {
      sums.push_back(pad);
      continue;
    }
    int64_t size = cast<RankedTensorType>(pad.getX().getType()).getDimSize(*axis);
    Value &sum = byAxis[*axis][{pad.getLow()[*axis], size}];
    sum = sum ? AddOp::create(builder, loc, sum, pad.getX()).getResult() : pad.getX();
  }
  for (auto &[axis, places] : byAxis) {
    SmallVector<Piece> pieces;
    for (auto &[place, value] : places)
      pieces.push_back({place.first, place.second, value});
    for (const Row &row : arrange(type, axis, pieces))
      sums.push_back(row.build(builder, loc));
  }
  return sums;
}
