//===- Quads.h - elements that are moved by fours -----------------------------------*- C++ -*-===//
//
// A function computes one element; what calls it does so for four neighbours and moves those of
// each tensor with one access:
//
//   Quad<__nv_bfloat16> a0 = loadQuad(x0, i);
//   Quad<float> a1 = loadQuad(x1, i % 64);
//   Quad<__nv_bfloat16> r0;
//   for (int l = 0; l < 4; ++l)
//     body(i + l, a0.v[l], a1.v[l], r0.v[l]);
//   storeQuad(y0, i, r0);
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_TEXT_QUADS_H
#define DLC_CODEGEN_CUDA_TEXT_QUADS_H

#include "codegen/CUDA/Text/DeviceFunction.h"

namespace dlc::codegen {

class Quads {
public:
  explicit Quads(DeviceFunction &function) : function(function) {}

  /// The element of operand `number` as a parameter; `place` in its buffer is where the first of
  /// four stands. Null if it is a parameter already that stands elsewhere.
  mlir::Value operand(unsigned number, llvm::StringRef place);
  /// The same of the point `own` of a row-major index space, the function's first parameter, where
  /// the operand lies so or repeats in whole quads. Null if it does not.
  mlir::Value linearOperand(unsigned number, const Point &point, const Point &own);
  /// The caller has added a parameter `name`, an element of `buffer`.
  void parameter(llvm::StringRef name, llvm::StringRef buffer, llvm::StringRef place,
                 mlir::Type element);
  /// A parameter `name` to which the function assigns `value`, an element of `buffer`. Fails if
  /// there is no value.
  mlir::LogicalResult result(llvm::StringRef name, llvm::StringRef buffer, llvm::StringRef place,
                             mlir::Type element, mlir::Value value);
  /// The same of result `number` of the kernel.
  mlir::LogicalResult result(unsigned number, llvm::StringRef place, mlir::Value value);

  /// What stands around a call, and its arguments behind those that the caller writes.
  struct Text {
    std::string before, operands, results, after;
  };
  /// Of four calls, of lane l each; else of one, of the element at each place.
  Text text(bool four) const;
  /// The members four(i) and one(i), see map.cuh, where the function is body(i, ...).
  std::string mapMembers() const;

private:
  struct Access {
    std::string name, buffer, place, type;
  };
  DeviceFunction &function;
  std::vector<Access> read, written;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, std::string>> known; ///< and its place
};

} // namespace dlc::codegen

#endif
