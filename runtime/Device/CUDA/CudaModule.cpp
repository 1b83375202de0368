// Loading kernels and preparing library calls.
#include "runtime/Device/CUDA/CudaModule.h"

#include <algorithm>

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
    addItem(text, name);
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

/// Fails with Unsupported if the library is missing or refuses the call, each time it is asked.
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

void Refusals::add(std::string_view reason, std::string_view record) {
  std::vector<std::string> &names = records[std::string(reason)];
  if (std::ranges::find(names, record) == names.end())
    names.emplace_back(record);
}

/// "'conv1', 'conv2' and 5 more"
static std::string namesText(const std::vector<std::string> &names, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += concat(i == 0 ? "'" : ", '", names[i], "'");
  return names.size() > most ? concat(text, " and ", names.size() - most, " more") : text;
}

std::string Refusals::text() const {
  std::string all;
  for (const auto &[reason, names] : records)
    all += concat(all.empty() ? "" : "; ", reason, ": ", namesText(names, names.size()));
  return all;
}

std::vector<std::string> Refusals::warnings() const {
  constexpr size_t mostNames = 4;
  std::vector<std::string> lines;
  for (const auto &[reason, names] : records)
    lines.push_back(concat(reason, ": kernels of dlc run for ", namesText(names, mostNames)));
  return lines;
}

std::vector<CallReport> CudaModule::probe() {
  std::vector<CallReport> reports;
  for (uint32_t call = 0; call < module->plan().calls.size(); ++call) {
    const Status status = prepareCall(call);
    if (!status.ok())
      reports.push_back({false, std::string(status.message())});
    else if (auto product = products.find(call); product != products.end())
      reports.push_back({true, product->second->choice()});
    else
      reports.push_back({true, convolutions.at(call)->description()});
  }
  return reports;
}

/// Asks the libraries about all calls of the entry before anything is loaded.
Status CudaModule::prepareCalls(const EntryInfo &entry) {
  const Plan &plan = module->plan();
  Refusals missing, replaced;
  for (uint32_t i = entry.records.first; i < entry.records.first + entry.records.count; ++i) {
    const uint32_t call = plan.records[i].index;
    if (plan.records[i].kind != DLC_RECORD_LIBRARY)
      continue;
    Status status = options.libraries ? prepareCall(call) : unsupported("libraries are left out");
    if (status.ok())
      continue;
    if (status.code() != StatusCode::Unsupported)
      return std::move(status).in(concat("'", plan.recordNames[i], "'"));
    const bool isNew = refused.insert(call).second;
    if (!plan.hasAlternative(entry, call))
      missing.add(status.message(), plan.recordNames[i]);
    else if (isNew && options.libraries)
      replaced.add(status.message(), plan.recordNames[i]);
  }
  if (!missing.empty())
    return unsupported(missing.text(), "; the plan has no kernels of dlc beside these calls");
  for (const std::string &line : replaced.warnings())
    if (options.warn)
      options.warn(line);
  return {};
}

Status CudaModule::prepare(const EntryInfo &entry) {
  const Plan &plan = module->plan();
  DLC_TRY(prepareCalls(entry));
  for (uint32_t i = entry.records.first; i < entry.records.first + entry.records.count; ++i) {
    const dlc_record &record = plan.records[i];
    const bool runs = record.condition == DLC_ALWAYS ||
                      accepts(record.call) == (record.condition == DLC_IF_ACCEPTED);
    if (record.kind == DLC_RECORD_LAUNCH && runs)
      DLC_TRY(loadKernel(record.index));
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
