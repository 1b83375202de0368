//===- Lowering.h - from a generator's ops to an object file ------------------------*- C++ -*-===//
//
// The path that every CPU kernel takes behind its generator: math functions become polynomials (no
// libm), scf, arith and vector become the LLVM dialect in one conversion, then LLVM IR, a short
// list of LLVM passes, and an object in memory. Numbers: multiply and add may fuse, nothing else is
// relaxed.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_LOWERING_LOWERING_H
#define DLC_CODEGEN_CPU_LOWERING_LOWERING_H

#include "codegen/CPU/CpuTarget.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace dlc::codegen {

/// Replaces math.exp, log and tanh on f32 and f64, scalars and vectors, by polynomials in arith
/// ops; see MathPolynomials.cpp for their errors. Math ops that are an instruction stay.
void expandMath(mlir::ModuleOp module);

/// expandMath, then everything to the LLVM dialect. Kept for a context's modules: its patterns take
/// as long to make as a small module takes to lower.
class Lowering {
public:
  Lowering(mlir::MLIRContext &context, const CpuTarget &target);
  Lowering(Lowering &&);
  ~Lowering();

  /// Fails with an error at an op that has no lowering.
  mlir::LogicalResult run(mlir::ModuleOp module) const;

private:
  struct Patterns;
  std::unique_ptr<const Patterns> patterns;
};

/// What to produce from a lowered module.
enum class Output { Object, Assembly, LLVM };

/// Turns lowered modules into code. Not for several threads at once; cheap to keep, a millisecond
/// to make.
class CodeWriter {
public:
  static llvm::Expected<CodeWriter> create(const CpuTarget &target);
  CodeWriter(CodeWriter &&);
  ~CodeWriter();

  /// `module` is what Lowering left.
  llvm::Expected<std::string> write(mlir::ModuleOp module, Output output);

private:
  explicit CodeWriter(std::unique_ptr<llvm::TargetMachine> machine);
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// A symbol that an object needs from elsewhere, apart from memcpy, memset and what begins with
/// `prefix`; empty if there is none.
std::string foreignSymbol(llvm::StringRef object, llvm::StringRef prefix);

/// Registers with the context what CodeWriter needs to read its modules.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace dlc::codegen

#endif
