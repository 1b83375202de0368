//===- CudaTarget.h - the GPUs to generate for --------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_CUDATARGET_H
#define DLC_CODEGEN_CUDA_CUDATARGET_H

#include "codegen/CUDA/Text/CudaText.h"
#include "codegen/Compile/Target.h"
#include "codegen/Machine/Machine.h"

namespace dlc::codegen {

/// NVIDIA's GPUs, and the SIMT device.
class CudaTarget final : public Target {
public:
  /// 80 for sm_80: a cubin each, and PTX for the lowest; ascending. May be empty with `simt`.
  llvm::SmallVector<unsigned> architectures;
  bool simt = false; ///< the kernels once more as native code, for the SIMT device
  GpuMachine machine;

  /// "sm_80,sm_90,simt"; fails with a message for anything else.
  static llvm::Expected<CudaTarget> get(llvm::StringRef names);

  /// Whether convolutions on tensor cores, in 16 bits and in TF32, want channels innermost: cuDNN's
  /// do, but for strict float32, where its engines want them first and turn others in a workspace
  /// of their size.
  bool wantsChannelsLast() const { return settings.convolutions != Provider::Own; }

  std::shared_ptr<Target> clone() const override { return std::make_shared<CudaTarget>(*this); }
  std::string name() const override;
  std::string description() const override { return name(); }
  ModuleNeeds needs() const override;
  bool hasImages() const override { return true; }
  bool has(Ability ability) const override { return ability == Ability::Libraries; }
  bool hasAlgorithm(ConvolutionAlgorithm algorithm) const override;
  llvm::ArrayRef<KernelForm> forms() const override;

  std::vector<GeneratedCandidate> candidates(const KernelSpec &spec) const override;
  void keepWithin(std::vector<GeneratedCandidate> &all, uint64_t workspace) const override;
  void keepProvider(std::vector<GeneratedCandidate> &all) const override;
  std::string refusal(const KernelSpec &spec) const override;
  std::string refusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) const override;
  std::string identity() const override { return sourceHash(); }

  dl::Layouts wantedLayouts(dl::FusedOp region) const override;
  bool readsStored(dl::AnchorOp anchor) const override;
  bool takesReductions(dl::AnchorOp anchor) const override;
  bool takesUpdates(dl::AnchorOp) const override { return false; }
  bool convertsItself(dl::FusedOp region) const override;
  std::optional<double> conversionSeconds(uint64_t bytes) const override;

  llvm::Error readMachine(const std::string &path) override;
  std::string printMachine() const override;
  double secondsPerCopiedByte() const override { return 1 / machine.copyBytesPerSecond; }
  int64_t mostRowBytes() const override { return machine.mostRowBytes(); }
  exec::ScheduleStreamsOptions streams() const override;

  /// A cubin for each architecture, and PTX.
  llvm::Expected<std::vector<CompiledKernel>> compile(llvm::ArrayRef<SelectedKernel> kernels,
                                                      const CompileOptions &options) const override;
  llvm::Expected<std::vector<std::string>>
  compileBeside(llvm::ArrayRef<SelectedKernel> kernels,
                const CompileOptions &options) const override;
  std::string symbolBeside(llvm::StringRef function) const override;
  llvm::Expected<std::vector<std::string>> print(llvm::ArrayRef<SelectedKernel> kernels,
                                                 KernelForm form,
                                                 const CompileOptions &options) const override;
  void describe(llvm::json::Object &report) const override;

private:
  /// Of all sources that decide what code a kernel becomes: 64 hexadecimal digits.
  static const char *sourceHash();
};

class CudaGenerator : public KernelGenerator {
public:
  /// Empty if the spec is not for this generator.
  virtual llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                                  const CudaTarget &target) const = 0;
};

} // namespace dlc::codegen

#endif
