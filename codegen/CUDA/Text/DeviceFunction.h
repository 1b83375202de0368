//===- DeviceFunction.h - index arithmetic and bodies as CUDA C++ -------------------*- C++ -*-===//
//
// A member function of a kernel's struct. It is built as arith and math ops, with the same
// BodyEmitter as on the CPU, at scalar points whose indices are the function's parameters; then
// printed as statements.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_TEXT_DEVICEFUNCTION_H
#define DLC_CODEGEN_CUDA_TEXT_DEVICEFUNCTION_H

#include "codegen/Kernel/LoopEmitter.h"

namespace dlc::codegen {

/// The C++ type of a stored element: bool is unsigned char, bf16 and f16 are the types of NVIDIA's
/// headers. Empty if CUDA kernels do not know it.
std::string storedTypeName(mlir::Type element);
/// The type of an element in memory: bool is a byte, unsigned integers are signless.
mlir::Type storedType(mlir::Type element);
/// The C++ type of a computed element: bool is bool; bf16 and f16 are floats with such values.
std::string computedTypeName(mlir::Type element);

/// A finite number in C++: 0.5f, (-2.0f); without f if it is double.
std::string literalText(double value, bool single);

/// Name of the member that holds buffer `number` of a spec: x0, x1, ... for operands, then y0, ...
std::string bufferName(const KernelSpec &spec, unsigned number);

class DeviceFunction {
public:
  /// `parameters`: names of indices.
  DeviceFunction(const KernelSpec &spec, llvm::StringRef name,
                 llvm::ArrayRef<llvm::StringRef> parameters);

  mlir::Value index(unsigned parameter) const { return indices[parameter]; }
  /// One more parameter: a computed element.
  mlir::Value addValue(llvm::StringRef name, mlir::Type element);
  /// The same for an element that a skeleton has summed: not rounded to `element` before.
  mlir::Value addSum(llvm::StringRef name, mlir::Type element);
  /// One more parameter, behind all others, that is assigned: `T &name`; a stored element, or null
  /// if there is no value.
  mlir::LogicalResult assign(llvm::StringRef name, mlir::Type element, mlir::Value value);

  /// A scalar point of `shape`.
  static Point point(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Value> indices);
  /// The point of element number `linear` of an index space of any shape.
  static Point linearPoint(mlir::Value linear, int64_t elements) {
    return point({elements}, {linear});
  }
  /// The indices of element number `linear` of `shape`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, llvm::ArrayRef<int64_t> shape);
  /// `point` over another index space of as many elements.
  Point reshape(const Point &point, llvm::ArrayRef<int64_t> shape);

  /// Gives the spec's values; operands are loaded from the struct's buffers.
  BodyEmitter body(BodyEmitter::AnchorValue anchor = {});
  /// The same, where operands may be known already at some points: null if one is not.
  BodyEmitter bodyGiven(std::function<mlir::Value(unsigned number, const Point &point)> known,
                        BodyEmitter::AnchorValue anchor = {});
  /// Values of another spec, whose operands are given.
  BodyEmitter body(const KernelSpec &other, std::function<mlir::Value(unsigned number)> operand);
  /// Number of the element at a point of its shape, row-major.
  mlir::Value linear(const Point &point);
  /// Where the element of operand `number` at `point` stands in memory, in elements.
  mlir::Value offset(unsigned number, const Point &point) {
    return offsetOf(spec.operandTypes()[number], point);
  }
  /// n, if that is index(0) % n.
  std::optional<int64_t> periodOf(unsigned number, const Point &point);
  /// Element of operand `number` as stored.
  mlir::Value load(unsigned number, const Point &point);
  /// Computes result `number` at `point` and stores it. Fails if the anchor is needed elsewhere.
  mlir::LogicalResult store(BodyEmitter &body, unsigned number, const Point &point);
  /// Stores element `linear` of result `number` as it lies in memory, by the loops of last resort.
  mlir::LogicalResult storeElement(unsigned number, mlir::Value linear);
  void returns(mlir::Value value) { returned = value; }

  /// The function's text, indented by two. Empty if it holds what CUDA kernels cannot. Once.
  std::string print();

  const KernelSpec &spec;

private:
  mlir::Value bufferPointer(unsigned number);
  mlir::Value sumOf(llvm::ArrayRef<std::pair<mlir::Value, int64_t>> terms);
  mlir::Value offsetOf(mlir::RankedTensorType type, const Point &point);
  /// A sum in the type that it is of.
  mlir::Value rounded(mlir::Value sum, mlir::Type element);

  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder builder;
  mlir::Location loc;
  LoopEmitter e;
  std::string name;
  std::vector<std::string> parameters, references; ///< in this order
  llvm::SmallVector<mlir::Value> indices;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<unsigned, mlir::Value> buffers;
  llvm::SmallVector<std::pair<std::string, mlir::Value>> assigned;
  mlir::Value returned;
};

} // namespace dlc::codegen

#endif
