//===- Native.cpp - see Native.h --------------------------------------------------------------===//
#include "bench/kernels/Native.h"
#include "codegen/CPU/CpuTarget.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace dlc::bench;
using namespace dlc::codegen;

Buffer::Buffer(size_t bytes)
    : memory(static_cast<float *>(std::aligned_alloc(
          DLC_ALIGNMENT, llvm::alignTo(std::max<size_t>(bytes, 1), DLC_ALIGNMENT)))) {}

NativeKernel::NativeKernel() = default;
NativeKernel::~NativeKernel() = default;

llvm::Expected<std::unique_ptr<NativeKernel>>
NativeKernel::compile(llvm::StringRef text, llvm::StringRef targetName,
                      ConvolutionAlgorithm algorithm) {
  llvm::Expected<CpuTarget> target = CpuTarget::get(targetName);
  if (!target)
    return target.takeError();
  target->settings.algorithm = algorithm;
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseKernel(text, &context);
  if (failed(module))
    return llvm::createStringError("cannot read kernel\n" + text);
  std::unique_ptr<NativeKernel> kernel(new NativeKernel());
  auto selected = KernelSelector(target->clone()).select(kernelBlock(**module));
  if (failed(selected))
    return llvm::createStringError("no generator takes kernel\n" + text);
  kernel->selected = *selected;
  kernel->bytesOfVector = target->vectorBytes;
  CompileOptions options;
  options.cache = false;
  auto compiled = target->compile(kernel->selected, options);
  if (!compiled)
    return compiled.takeError();
  kernel->seconds = compiled->front().seconds;
  if (llvm::Error error = kernel->load(compiled->front().objects))
    return std::move(error);
  return kernel;
}

llvm::Error NativeKernel::load(llvm::ArrayRef<std::string> objects) {
  llvm::InitializeNativeTarget();
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  for (const std::string &object : objects)
    if (llvm::Error error = jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)))
      return error;
  size_t scratchBytes = 0;
  for (auto [symbol, phase] : llvm::zip_equal(selected.symbols, selected.candidate.phases)) {
    auto address = jit->lookup(symbol);
    if (!address)
      return address.takeError();
    functions.push_back(address->toPtr<dlc_kernel_fn>());
    scratchBytes = std::max<size_t>(scratchBytes, phase.scratchBytes);
  }
  scratch = std::make_unique<Buffer>(scratchBytes);
  for (uint64_t bytes : {selected.candidate.workspaceBytes, selected.candidate.restBytes})
    if (bytes != 0)
      workspaces.push_back(std::make_unique<Buffer>(bytes));
  return llvm::Error::success();
}

void NativeKernel::run(std::vector<void *> buffers, bool prepared) {
  for (const std::unique_ptr<Buffer> &workspace : workspaces)
    buffers.push_back(workspace->data());
  dlc_args args{sizeof(dlc_args), uint32_t(buffers.size()), buffers.data(), nullptr, nullptr};
  const auto &preparation = selected.candidate.preparation;
  for (size_t i = prepared && preparation ? preparation->phases : 0; i < functions.size(); ++i)
    for (uint32_t task = 0; task < selected.candidate.phases[i].tasks; ++task)
      functions[i](&args, task, scratch->data());
}
