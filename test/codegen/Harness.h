//===- Harness.h - compiles a kernel and compares it with the interpreter ---------*- C++ -*-===//
//
// Kernels run on buffers that end where unreadable memory begins, so that a read or write behind a
// tensor is a fault; results and scratch are poisoned before each run. Tasks run in any order
// wanted. The oracle is the float64 interpreter.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_CODEGEN_HARNESS_H
#define DLC_TEST_CODEGEN_HARNESS_H

#include "codegen/Compile/KernelSelector.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <memory>

namespace dlc::test {

using interpreter::Tensor;

/// A region as text: "(operand types) -> (result types)" of its dl.fused, and the block. Composites
/// that are no kernel stand for their formulas; the oracle computes them whole.
struct KernelSource {
  std::string operands, results, block;
  std::string moduleText() const;
};

/// `source` with tensors of `element` in place of those of `written`.
KernelSource inElement(KernelSource source, llvm::StringRef element,
                       llvm::StringRef written = "f32");

/// An element type other than f32, and what sums in it err that are of f32, or f64, and rounded
/// once to 8 and 11 bits: half an ulp of the largest, and of f32 what sums in blocks do.
struct OtherElement {
  const char *name;
  double rounding;
};
inline constexpr OtherElement otherElements[] = {
    {"f64", 4e-14}, {"bf16", 1.0 / 256 + 4e-6}, {"f16", 1.0 / 2048 + 4e-6}};

/// In what order the tasks of a phase run.
enum class TaskOrder { Forward, Backward, Shuffled };

class CompiledTestKernel {
public:
  /// Compiles `source` with a candidate of the named generator ("": any), by its number from the
  /// cheapest on, for "native", "avx2" or "cuda:simt"; for "reference:" and a processor's name one
  /// of those that multiply pairs, whose instructions are functions here (InstructionReference.h).
  /// Adds a test failure and stays empty if that fails.
  CompiledTestKernel(const KernelSource &source, llvm::StringRef target = "native",
                     llvm::StringRef generator = "", unsigned number = 0);
  ~CompiledTestKernel();
  /// What the constructor would compile; its generator is null after a test failure. "znver4"
  /// halves vectors of 64 bytes.
  static codegen::SelectedKernel select(const KernelSource &source, llvm::StringRef target,
                                        llvm::StringRef generator);
  /// The candidates that the constructor takes by their numbers.
  static std::vector<codegen::Candidate> offered(const KernelSource &source, llvm::StringRef target,
                                                 llvm::StringRef generator);

  explicit operator bool() const { return loaded; }
  const codegen::SelectedKernel &selection() const { return selected; }
  /// How many candidates there were to choose from.
  unsigned candidates() const { return offers.size(); }
  const codegen::KernelSpec &spec() const { return *analysed; }

  /// A result that lies in the memory of an operand, by their numbers.
  struct InPlace {
    size_t operand, result;
  };
  /// Runs on tensors rounded to their types; returns the results as stored. The order is also the
  /// seed of a SIMT kernel's threads.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs, TaskOrder order = TaskOrder::Forward,
                          std::optional<InPlace> inPlace = std::nullopt);
  /// Result `number` of the last run as it lies in memory, f32.
  std::vector<float> resultMemory(unsigned number) const;
  /// The region in float64 on the same rounded inputs.
  std::vector<Tensor> oracle(llvm::ArrayRef<Tensor> inputs);
  /// Inputs in [-1, 1) for floats, small numbers for integers, both for bool.
  std::vector<Tensor> randomInputs(uint64_t seed = 1) const;

private:
  struct State;
  CompiledTestKernel();
  /// Returns the target of that name.
  std::shared_ptr<const codegen::Target> choose(const KernelSource &source,
                                                llvm::StringRef targetName,
                                                llvm::StringRef generator, unsigned number);
  /// Empty, or what went wrong.
  std::string loadNative(const codegen::Target &target, const codegen::CompileOptions &options);
  std::string loadSimt(const codegen::Target &target, const codegen::CompileOptions &options);
  std::string loadReference(const codegen::Target &target, const codegen::CompileOptions &options);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> written, module; ///< with composites, and without
  std::unique_ptr<codegen::KernelSpec> analysed;
  codegen::SelectedKernel selected = {};
  std::unique_ptr<State> state;
  std::vector<codegen::Candidate> offers;
  bool loaded = false;
};

/// max|a - b| / max|b|; infinite where only one is finite or NaN.
double relativeError(const Tensor &a, const Tensor &b);

/// The machine, and what multiplies pairs of bf16 by VDPBF16PS's reference if the machine does not
/// by the instruction.
llvm::SmallVector<llvm::StringRef> pairsTargets();

/// Runs with random inputs in all task orders: equal bits in each, and results within `tolerance`
/// of the oracle's, for every candidate of the generator whose schedule has `words`, of which each
/// target must have one. Also for AVX2. The generator's name is checked if given.
void checkKernel(const KernelSource &source, double tolerance, llvm::StringRef generator = "",
                 llvm::StringRef words = "");
/// The same, and on whatever machine of the candidates that multiply pairs by VDPBF16PS.
void checkPairsKernel(const KernelSource &source, double tolerance, llvm::StringRef generator);
/// The same of the candidates that use AMX's tiles, on whatever machine.
void checkAmxKernel(const KernelSource &source, double tolerance, llvm::StringRef generator);
/// The same for CUDA's text, run by the SIMT device: for candidate `number`, of as many as it
/// returns.
unsigned checkCudaKernel(const KernelSource &source, double tolerance,
                         llvm::StringRef generator = "", unsigned number = 0);

} // namespace dlc::test

#endif
