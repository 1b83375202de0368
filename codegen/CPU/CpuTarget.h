//===- CpuTarget.h - the processors to generate for ---------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_CPUTARGET_H
#define DLC_CODEGEN_CPU_CPUTARGET_H

#include "codegen/Compile/Target.h"
#include "codegen/Machine/Machine.h"

namespace dlc::codegen {

class Architecture;

/// A processor.
class CpuTarget final : public Target {
public:
  const Architecture *architecture = nullptr; ///< codegen/CPU/Architecture.h
  std::string cpu;                            ///< LLVM's name
  std::string features;                       ///< LLVM's feature string
  uint64_t required = 0;                      ///< bit set of dlc_cpu_feature that the code needs
  unsigned vectorBytes = 32; ///< of the vectors to use: 16 (NEON), 32 (AVX2) or 64 (AVX-512)
  unsigned vectorRegisters = 16;
  bool masksLanes = false; ///< loads and stores of some lanes cost no more than of all
  /// Rounds f32 to bf16 in an instruction, for which denormal numbers are 0.
  bool roundsToBF16 = false;
  bool maximumIsSecond = false; ///< of two numbers of which one is NaN
  CpuMachine machine;           ///< how fast it is

  /// "native", "avx2", "avx512", "neon" or LLVM's name of a processor that has AVX2 or NEON; fails
  /// with a message for anything else.
  static llvm::Expected<CpuTarget> get(llvm::StringRef name);

  std::shared_ptr<Target> clone() const override { return std::make_shared<CpuTarget>(*this); }
  std::string name() const override { return cpu; }
  std::string description() const override;
  ModuleNeeds needs() const override { return {1u << DLC_TARGET_CPU, required, cpu}; }
  /// AMX where a kernel uses it: many a hypervisor keeps it from its guests.
  ModuleNeeds needsOf(llvm::ArrayRef<SelectedKernel> kernels) const override;
  std::string triple() const override;
  bool has(Ability ability) const override { return ability == Ability::ImageLayouts; }
  bool hasAlgorithm(ConvolutionAlgorithm) const override { return true; }
  llvm::ArrayRef<KernelForm> forms() const override;

  std::vector<GeneratedCandidate> candidates(const KernelSpec &spec) const override;
  void keepWithin(std::vector<GeneratedCandidate> &all, uint64_t workspace) const override;
  std::string refusal(const KernelSpec &spec) const override;
  std::string refusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) const override;
  std::string layoutRefusal(const KernelSpec &spec) const override;
  std::string identity() const override;

  dl::Layouts wantedLayouts(dl::FusedOp region) const override;
  bool readsStored(dl::AnchorOp) const override { return false; }
  bool takesReductions(dl::AnchorOp anchor) const override;
  bool takesUpdates(dl::AnchorOp anchor) const override;
  bool convertsItself(dl::FusedOp region) const override;
  std::optional<double> conversionSeconds(uint64_t) const override { return std::nullopt; }

  llvm::Error readMachine(const std::string &path) override;
  std::string printMachine() const override;
  std::string assumedMachine() const override;
  std::vector<MachineProbe> probes() override;
  double secondsPerCopiedByte() const override { return 1 / machine.copyBytesPerSecond; }
  int64_t mostRowBytes() const override { return machine.mostRowBytes(); }
  double hostSumSeconds() const override { return machine.hostSumSeconds; }

  llvm::Expected<std::vector<CompiledKernel>> compile(llvm::ArrayRef<SelectedKernel> kernels,
                                                      const CompileOptions &options) const override;
  llvm::Expected<std::vector<std::string>> print(llvm::ArrayRef<SelectedKernel> kernels,
                                                 KernelForm form,
                                                 const CompileOptions &options) const override;

private:
  /// Of all sources that decide what code a kernel becomes: 64 hexadecimal digits.
  static const char *sourceHash();
};

class CpuGenerator : public KernelGenerator {
public:
  /// Empty if the spec is not for this generator.
  virtual llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                                  const CpuTarget &target) const = 0;
  /// Emits into `module` one function `<symbol>` for a single phase, `<symbol>_<i>` for phase i of
  /// several, each of type dlc_kernel_fn: llvm-compatible after the common lowering of codegen/CPU.
  virtual mlir::LogicalResult emit(const KernelSpec &spec, const Candidate &candidate,
                                   const CpuTarget &target, llvm::StringRef symbol,
                                   mlir::ModuleOp module) const = 0;
};

} // namespace dlc::codegen

#endif
