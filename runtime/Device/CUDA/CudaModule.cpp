// Loading kernels and preparing library calls.
#include "runtime/Device/CUDA/CudaModule.h"

#include <set>

namespace dlc::runtime {

CudaModule::~CudaModule() {
  products.clear();
  convolutions.clear();
  if (blasHandle)
    blas->destroy(blasHandle);
  if (cudnnHandle)
    cudnn->destroy(cudnnHandle);
}

bool imageServes(const dlc_image &image, int architecture) {
  const int made = static_cast<int>(image.architecture);
  if (image.kind == DLC_IMAGE_PTX)
    return made <= architecture;
  return made / 10 == architecture / 10 && made <= architecture;
}

const dlc_image *CudaModule::choose(const KernelInfo &kernel) const {
  const int architecture = device.major * 10 + device.minor;
  const dlc_image *best = nullptr;
  for (uint32_t i = 0; i < kernel.images.count; ++i) {
    const dlc_image &image = module->plan().images[kernel.images.first + i];
    if (!imageServes(image, architecture))
      continue;
    auto rank = [](const dlc_image &image) {
      return std::pair(image.kind == DLC_IMAGE_CUBIN, image.architecture);
    };
    if (!best || rank(image) > rank(*best))
      best = &image;
  }
  return best;
}

/// "sm_80, sm_90, PTX for sm_80"
static std::string imageNames(const Plan &plan, const KernelInfo &kernel) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < kernel.images.count; ++i) {
    const dlc_image &image = plan.images[kernel.images.first + i];
    names.insert(concat(image.kind == DLC_IMAGE_PTX ? "PTX for sm_" : "sm_", image.architecture));
  }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no CUDA architecture" : text;
}

Status CudaModule::loadKernel(uint32_t index) {
  if (kernels.contains(index))
    return {};
  const Plan &plan = module->plan();
  const KernelInfo &kernel = plan.kernels[index];
  const dlc_image *image = choose(kernel);
  if (!image)
    return unsupported("compiled for ", imageNames(plan, kernel), "; the ", device.name, " is sm_",
                       device.major, device.minor);
  CudaKernel loaded;
  // A copy ends with a zero, which PTX needs.
  const auto *bytes = reinterpret_cast<const char *>(plan.imageBytes.data() + image->offset);
  const std::string code(bytes, image->bytes);
  const std::string symbol(kernel.symbol);
  DLC_TRY(checkCuda(cudaLibraryLoadData(loaded.code.out(), code.c_str(), nullptr, nullptr, 0,
                                        nullptr, nullptr, 0),
                    concat("loading kernel ", symbol)));
  DLC_TRY(checkCuda(cudaLibraryGetKernel(&loaded.function, loaded.code.get(), symbol.c_str()),
                    concat("finding kernel ", symbol)));
  constexpr uint32_t sharedWithoutAsking = 48 * 1024;
  if (kernel.sharedBytes > sharedWithoutAsking) {
    if (kernel.sharedBytes > device.sharedMemPerBlockOptin)
      return unsupported("kernel ", symbol, " needs ", kernel.sharedBytes,
                         " bytes of shared memory; the ", device.name, " has ",
                         device.sharedMemPerBlockOptin);
    DLC_TRY(checkCuda(cudaFuncSetAttribute(reinterpret_cast<const void *>(loaded.function),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(kernel.sharedBytes)),
                      concat("shared memory of kernel ", symbol)));
  }
  kernels.emplace(index, std::move(loaded));
  return {};
}

Status CudaModule::prepareCall(uint32_t index) {
  const Plan &plan = module->plan();
  const dlc_library_call &call = plan.calls[index];
  if (call.op == DLC_CALL_PRODUCT) {
    if (products.contains(index))
      return {};
    if (!blasHandle) {
      DLC_TRY_ASSIGN(loaded, CublasLt::load());
      blas = loaded;
      if (blas->create(&blasHandle) != CUBLAS_STATUS_SUCCESS)
        return failure(StatusCode::Failed, "device cuda: cuBLASLt cannot be started");
    }
    DLC_TRY_ASSIGN(product, ProductPlan::build(*blas, blasHandle, call));
    products.emplace(index, std::move(product));
    return {};
  }
  if (convolutions.contains(index))
    return {};
  if (!cudnnHandle) {
    DLC_TRY_ASSIGN(loaded, Cudnn::load());
    cudnn = loaded;
    if (auto status = cudnn->create(&cudnnHandle); status != CUDNN_STATUS_SUCCESS)
      return failure(StatusCode::Failed,
                     "device cuda: cuDNN cannot be started: ", cudnn->statusText(status));
  }
  const auto engine = std::span(plan.immediates).subspan(call.engine.first, call.engine.count);
  DLC_TRY_ASSIGN(convolution,
                 ConvolutionPlan::build(CudnnTarget{cudnn, cudnnHandle, {}}, call, engine));
  convolutions.emplace(index, std::move(convolution));
  return {};
}

Status withRemedy(Status status, const dlc_library_call &call) {
  if (status.code() != StatusCode::Unsupported)
    return status;
  if (isGradientEpilogue(call))
    return unsupported(status.message(),
                       "; compiled with --disable-pass=dl-fuse-product-gradients or --gemm=own the "
                       "model does without it");
  return unsupported(status.message(), "; compiled with ",
                     call.op == DLC_CALL_PRODUCT ? "--gemm=own" : "--conv-algorithm=own",
                     " the model needs no library for it");
}

Status CudaModule::prepare(const EntryInfo &entry) {
  const Plan &plan = module->plan();
  for (uint32_t i = entry.records.first; i < entry.records.first + entry.records.count; ++i) {
    const dlc_record &record = plan.records[i];
    if (record.kind == DLC_RECORD_LAUNCH)
      DLC_TRY(loadKernel(record.index));
    else if (record.kind == DLC_RECORD_LIBRARY)
      DLC_TRY(withRemedy(prepareCall(record.index), plan.calls[record.index])
                  .in(concat("'", plan.recordNames[i], "'")));
    else if (record.kind == DLC_RECORD_COLLECTIVE_START ||
             record.kind == DLC_RECORD_COLLECTIVE_WAIT)
      return unsupported("record ", i, " '", plan.recordNames[i],
                         "' is a collective, which this device does not run");
  }
  return {};
}

Status CudaModule::run(uint32_t index, cudaStream_t stream, void *const *arguments) {
  if (module->plan().calls[index].op == DLC_CALL_PRODUCT)
    return products.at(index)->run(blasHandle, stream, arguments);
  // Not in every call: it may do more than remember the stream, and a call may be in a capture.
  if (stream != cudnnStream) {
    if (auto status = cudnn->setStream(cudnnHandle, stream); status != CUDNN_STATUS_SUCCESS)
      return failure(StatusCode::Failed, "device cuda: cuDNN: ", cudnn->statusText(status));
    cudnnStream = stream;
  }
  return convolutions.at(index)->execute(cudnnHandle, arguments);
}

} // namespace dlc::runtime
