//===- CudaCompiler.cpp - from kernels' texts to images, and to native code -------------------===//
#include "codegen/CUDA/Compile/Headers.h"
#include "codegen/CUDA/Compile/Nvrtc.h"
#include "codegen/CUDA/Compile/Simt.h"
#include "codegen/CUDA/CudaTarget.h"
#include "codegen/CUDA/Text/Sources.h"
#include "codegen/Compile/Jobs.h"
#include "codegen/Compile/KernelCache.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static std::vector<CudaSource> sourcesOf(ArrayRef<SelectedKernel> kernels) {
  std::vector<CudaSource> sources;
  for (const SelectedKernel &kernel : kernels)
    sources.push_back(nameFunctions(kernel.candidate, kernel.symbol));
  return sources;
}

/// NVIDIA's headers, if `sources` need them; else nothing.
static llvm::Expected<CudaHeaders> headersFor(ArrayRef<CudaSource> sources) {
  if (llvm::all_of(sources, [](const CudaSource &source) { return source.headers.empty(); }))
    return CudaHeaders();
  return CudaHeaders::find();
}

/// A job makes one kernel's cubin and PTX for one architecture; the PTX of the lowest is kept.
llvm::Expected<std::vector<CompiledKernel>>
CudaTarget::compile(ArrayRef<SelectedKernel> kernels, const CompileOptions &options) const {
  std::vector<CompiledKernel> compiled(kernels.size());
  if (architectures.empty())
    return compiled;
  llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load();
  if (!nvrtc)
    return nvrtc.takeError();
  const std::vector<CudaSource> sources = sourcesOf(kernels);
  llvm::Expected<CudaHeaders> headers = headersFor(sources);
  if (!headers)
    return headers.takeError();
  size_t perKernel = architectures.size();
  std::vector<std::string> texts;
  std::vector<Job> jobs;
  std::vector<size_t> kernelOfText; // without those that are library calls only
  for (auto [number, source] : llvm::enumerate(sources)) {
    if (source.functions.empty())
      continue;
    kernelOfText.push_back(number);
    texts.push_back(completeText(source, /*lineMarkers=*/true));
    std::string identity = source.headers.empty() ? "" : headers->identity;
    for (unsigned architecture : architectures)
      jobs.push_back(
          {hashText("nvrtc parts " + (*nvrtc)->version() + " sm_" + std::to_string(architecture) +
                    '\0' + identity + '\0' + texts.back()),
           texts.back().size()});
  }
  auto results = runJobs(jobs, options, [&]() -> llvm::Expected<RunJob> {
    return RunJob([&](size_t i) -> llvm::Expected<std::string> {
      auto images =
          (*nvrtc)->compile(texts[i / perKernel], architectures[i % perKernel],
                            sources[kernelOfText[i / perKernel]].functions, headers->folders);
      if (!images)
        return images.takeError();
      return packParts({images->first.serialise(), images->second.serialise()});
    });
  });
  if (!results)
    return results.takeError();
  for (auto [i, result] : llvm::enumerate(*results)) {
    CompiledKernel &kernel = compiled[kernelOfText[i / perKernel]];
    std::vector<std::string> parts = unpackParts(result.object);
    std::optional<KernelImage> cubin, ptx;
    if (parts.size() == 2) {
      cubin = KernelImage::deserialise(parts[0]);
      ptx = KernelImage::deserialise(parts[1]);
    }
    if (!cubin || !ptx)
      return llvm::createStringError("kernel " + kernels[kernelOfText[i / perKernel]].symbol +
                                     ": the cache holds what is no image");
    kernel.images.insert(kernel.images.begin() + i % perKernel, std::move(*cubin));
    if (i % perKernel == 0)
      kernel.images.push_back(std::move(*ptx));
    kernel.fromCache = (i % perKernel == 0 || kernel.fromCache) && result.fromCache;
    kernel.seconds += result.seconds;
  }
  return compiled;
}

/// For the SIMT device, several kernels in each object: one dlc_kernel_fn a phase, named by
/// simtSymbol.
llvm::Expected<std::vector<std::string>>
CudaTarget::compileBeside(ArrayRef<SelectedKernel> kernels, const CompileOptions &options) const {
  if (!simt)
    return std::vector<std::string>();
  llvm::Expected<HostCompiler> compiler = HostCompiler::find();
  if (!compiler)
    return compiler.takeError();
  const std::vector<CudaSource> sources = sourcesOf(kernels);
  llvm::Expected<CudaHeaders> headers = headersFor(sources);
  if (!headers)
    return headers.takeError();
  // Enough files for all cores, and as many on every machine: equal input, equal bytes.
  const size_t kernelsPerFile = 20;
  std::vector<std::string> texts;
  std::vector<Job> jobs;
  for (ArrayRef<CudaSource> rest = sources; !rest.empty();
       rest = rest.drop_front(std::min(kernelsPerFile, rest.size()))) {
    texts.push_back(simtText(rest.take_front(std::min(kernelsPerFile, rest.size()))));
    jobs.push_back(
        {hashText("simt " + compiler->identity + '\0' + headers->identity + '\0' + texts.back()),
         texts.back().size()});
  }
  auto results = runJobs(jobs, options, [&]() -> llvm::Expected<RunJob> {
    return RunJob([&](size_t i) { return compiler->compile(texts[i], headers->folders); });
  });
  if (!results)
    return results.takeError();
  std::vector<std::string> objects;
  for (JobResult &result : *results)
    objects.push_back(std::move(result.object));
  return objects;
}

std::string CudaTarget::symbolBeside(StringRef function) const { return simtSymbol(function); }

ArrayRef<KernelForm> CudaTarget::forms() const {
  static constexpr KernelForm all[] = {KernelForm::Source, KernelForm::PTX};
  return all;
}

/// The text, skeletons included, or the PTX of the lowest architecture where it is a launch.
llvm::Expected<std::vector<std::string>> CudaTarget::print(ArrayRef<SelectedKernel> kernels,
                                                           KernelForm form,
                                                           const CompileOptions &options) const {
  std::vector<CompiledKernel> compiled(kernels.size());
  if (form == KernelForm::PTX) {
    if (architectures.empty())
      return llvm::createStringError("--emit=ptx needs an architecture: --target=cuda:sm_90");
    auto result = compile(kernels, options);
    if (!result)
      return result.takeError();
    compiled = std::move(*result);
  }
  std::vector<std::string> texts;
  for (auto [kernel, code] : llvm::zip_equal(kernels, compiled))
    texts.push_back(
        code.images.empty()
            ? completeText(nameFunctions(kernel.candidate, kernel.symbol), /*lineMarkers=*/false)
            : code.images.back().bytes.c_str());
  return texts;
}
