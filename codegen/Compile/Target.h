//===- Target.h - what code is made for ---------------------------------------------*- C++ -*-===//
//
// A target is a folder of codegen with its generators and a class that stands here for all of it:
// what it is called, what its generators offer, in which layouts, how fast its machine is, and how
// its code is made. Passes, plans and tools know no other; getTarget (codegen/Targets.h) knows the
// names of all.
//
// A target that is asked by several threads is not changed meanwhile.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_COMPILE_TARGET_H
#define DLC_CODEGEN_COMPILE_TARGET_H

#include "codegen/Compile/CompiledKernel.h"
#include "passes/DL/Choice/CandidateSource.h"
#include "passes/Pipelines.h"
#include <functional>

namespace dlc::codegen {

/// How a CPU's convolutions may store images.
enum class ImageLayout {
  Heuristic, ///< what the cost model takes
  RowMajor,
  Blocks,       ///< nchw16c, of each convolution that has code for it
  ChannelsLast, ///< the same of nhwc16c
};

/// Whether each convolution that has code for the layout takes it.
inline bool isForced(ImageLayout layout) {
  return layout == ImageLayout::Blocks || layout == ImageLayout::ChannelsLast;
}

/// Whose code computes a product or a convolution: the faster one's, by estimates.
enum class Provider { Faster, Library, Own };

/// Float32: sums of float32, but for algorithms that err some times more. Strict: without those.
enum class Math { Float32, Strict };

/// What some targets have.
enum class Ability {
  ImageLayouts, ///< TargetSettings::layout
  Libraries,    ///< products and convolutions may be others'
};

/// What the user wants of all code of a module.
struct TargetSettings {
  /// Of each convolution that can run so and that asks for none itself.
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Heuristic;
  Math math = Math::Float32;
  /// Bytes that a kernel may use besides its tensors, where one can that needs no more. Kernels
  /// take turns in this memory, so it is what all of a step needs. Not set: as many as they want;
  /// of cuDNN 16 MiB, of our own on CUDA none.
  std::optional<uint64_t> workspaceLimit = std::nullopt;

  /// With Ability::ImageLayouts.
  ImageLayout layout = ImageLayout::Heuristic;

  /// With Ability::Libraries.
  Provider products = Provider::Library, convolutions = Provider::Faster;
  /// If set: cuDNN's engine for a convolution; nothing if it has none, which leaves the convolution
  /// to our own. Called by several threads.
  std::function<std::optional<LibraryEngine>(const dlc_library_call &call)> chooseEngine = nullptr;
};

/// What a module must find where it runs.
struct ModuleNeeds {
  uint32_t targets = 0;     ///< bits of dlc_target: any of these
  uint64_t cpuFeatures = 0; ///< bits of dlc_cpu_feature
  std::string cpu = "";     ///< LLVM's name of the processor that native code is for

  bool has(dlc_target target) const { return targets & (1u << target); }
};

/// A kernel that takes as long as some numbers of a machine say.
struct MachineProbe {
  std::string name; ///< of what it measures
  std::string text; ///< KernelSpec::canonicalText
  std::vector<double *> rates;
};

class Target {
public:
  virtual ~Target() = default;
  virtual std::shared_ptr<Target> clone() const = 0;

  TargetSettings settings;

  bool isStrict() const { return settings.math == Math::Strict; }

  //===--- What it is -------------------------------------------------------------------------===//
  /// "znver4", "cuda:sm_80,simt": for reports.
  virtual std::string name() const = 0;
  /// The same with all that times depend on: for plans.
  virtual std::string description() const = 0;
  virtual ModuleNeeds needs() const = 0;
  /// What a module of these kernels needs: all of it or less.
  virtual ModuleNeeds needsOf(llvm::ArrayRef<SelectedKernel>) const { return needs(); }
  /// LLVM's, of native code: of this process, if the target's own is none.
  virtual std::string triple() const;
  /// Whether the kernels' code stands in the plan, as images that a device loads.
  virtual bool hasImages() const { return false; }
  virtual bool has(Ability ability) const = 0;
  /// Whether some convolutions can run so.
  virtual bool hasAlgorithm(ConvolutionAlgorithm algorithm) const = 0;
  virtual llvm::ArrayRef<KernelForm> forms() const = 0;

  //===--- What its generators offer ----------------------------------------------------------===//
  /// All candidates of all of its generators, in any order.
  virtual std::vector<GeneratedCandidate> candidates(const KernelSpec &spec) const = 0;
  /// Takes out what needs more workspace than it may.
  virtual void keepWithin(std::vector<GeneratedCandidate> &all, uint64_t workspace) const = 0;
  /// Takes out what the settings do not want of a convolution that is to have no algorithm.
  virtual void keepProvider(std::vector<GeneratedCandidate> &) const {}
  /// Why the spec is left to the code of last resort, or to none at all.
  virtual std::string refusal(const KernelSpec &spec) const = 0;
  /// Why the algorithm is not offered for the spec, a convolution.
  virtual std::string refusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) const = 0;
  /// Why the spec, a convolution, is not in the layout that the settings force; empty if it may be.
  virtual std::string layoutRefusal(const KernelSpec &) const { return ""; }
  /// What makes equal text equal code: the sources of what makes it, and all of the target that
  /// it follows.
  virtual std::string identity() const = 0;

  //===--- What passes ask --------------------------------------------------------------------===//
  /// Layouts in which the target may want the region beside row-major; null where there is none.
  virtual dl::Layouts wantedLayouts(dl::FusedOp region) const = 0;
  virtual bool readsStored(dl::AnchorOp anchor) const = 0;     ///< see CandidateSource
  virtual bool takesReductions(dl::AnchorOp anchor) const = 0; ///< see CandidateSource
  virtual bool takesUpdates(dl::AnchorOp anchor) const = 0;    ///< see CandidateSource
  virtual bool convertsItself(dl::FusedOp region) const = 0;   ///< see CandidateSource
  /// What it takes to turn a tensor of `bytes` into another layout; nothing where candidates say
  /// it.
  virtual std::optional<double> conversionSeconds(uint64_t bytes) const = 0;

  //===--- Its machine ------------------------------------------------------------------------===//
  virtual llvm::Error readMachine(const std::string &path) = 0; ///< MachineFile.h
  virtual std::string printMachine() const = 0;
  /// "znver5 of L1 32 KiB, ...": what stands for a processor that has no record; empty if it has.
  virtual std::string assumedMachine() const { return ""; }
  /// Kernels that tell the numbers of the record, in the order in which to run them; none if it is
  /// not measured. The rates are those of this target.
  virtual std::vector<MachineProbe> probes() { return {}; }
  virtual double secondsPerCopiedByte() const = 0;    ///< see CandidateSource
  virtual int64_t mostRowBytes() const = 0;           ///< see CandidateSource
  virtual double hostSumSeconds() const { return 0; } ///< that a sum over ranks takes from kernels
  /// How its launches may run side by side.
  virtual exec::ScheduleStreamsOptions streams() const { return {}; }

  //===--- Its code ---------------------------------------------------------------------------===//
  /// Compiles `kernels` on all cores, or takes them from the cache; results in their order. Fails
  /// with one message that names the kernel. An unreadable or unwritable cache, and damaged entries
  /// in it, are no errors: the kernel is compiled.
  virtual llvm::Expected<std::vector<CompiledKernel>>
  compile(llvm::ArrayRef<SelectedKernel> kernels, const CompileOptions &options) const = 0;
  /// Relocatable objects that a module has beside these.
  virtual llvm::Expected<std::vector<std::string>> compileBeside(llvm::ArrayRef<SelectedKernel>,
                                                                 const CompileOptions &) const {
    return std::vector<std::string>();
  }
  /// What those call a kernel's function.
  virtual std::string symbolBeside(llvm::StringRef function) const { return function.str(); }
  /// One of forms(), of each kernel. Fails with one message.
  virtual llvm::Expected<std::vector<std::string>> print(llvm::ArrayRef<SelectedKernel> kernels,
                                                         KernelForm form,
                                                         const CompileOptions &options) const = 0;
  /// What else a report says of how code was made.
  virtual void describe(llvm::json::Object &) const {}
};

/// What `generators`, of one target, offer.
template <typename Generators, typename T>
std::vector<GeneratedCandidate> collectCandidates(const Generators &generators,
                                                  const KernelSpec &spec, const T &target) {
  std::vector<GeneratedCandidate> all;
  for (const auto *generator : generators)
    for (Candidate &candidate : generator->candidates(spec, target))
      all.push_back({generator, std::move(candidate)});
  return all;
}

} // namespace dlc::codegen

#endif
