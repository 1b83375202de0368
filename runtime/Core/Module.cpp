// Loading: copy the file where nobody can change it, check the copy, decode and check its plan, and
// only then open it as a library.
#include "dlc/module.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/ModuleImage.h"
#include "runtime/Core/PlanDecoder.h"
#include "runtime/Core/Support.h"

#include <cstring>
#include <new>

namespace dlc::runtime {

struct Module::Impl {
  Impl(std::string path, ModuleImage image) : path(std::move(path)), image(std::move(image)) {}
  Status check();
  Status openLibrary();
  Status checkLibrary(const dlc_module *module);

  std::string path;
  ModuleImage image;
  dlc_note note = {};
  std::span<const std::byte> blob;
  Plan plan;
  std::span<const dlc_kernel_fn> kernels;
};

Status Module::Impl::check() {
  DLC_TRY_ASSIGN(file, locateModule(image.content()));
  DLC_TRY(checkModule(image.content(), file));
  note = file.note;
  blob = image.content().subspan(file.planAt.offset, file.planAt.size);
  DLC_TRY_ASSIGN(decoded, decodePlan(blob));
  plan = std::move(decoded);
  return {};
}

Status Module::Impl::openLibrary() {
  DLC_TRY(image.open());
  auto query = reinterpret_cast<dlc_module_query_fn>(image.find("dlc_module_query"));
  if (!query)
    return damaged("damaged module: no symbol dlc_module_query");
  const dlc_module *module = query(DLC_ABI_VERSION);
  if (!module)
    return unsupported("the module does not serve ABI version ", DLC_ABI_VERSION);
  return checkLibrary(module);
}

Status Module::Impl::checkLibrary(const dlc_module *module) {
  if (module->size < sizeof(dlc_module) || module->abi_version != note.abi_version)
    return damaged("damaged module: its descriptor has ", module->size, " bytes and ABI version ",
                   module->abi_version);
  // What the dynamic loader mapped must be what was checked.
  if (!module->plan || module->plan_size != blob.size() ||
      std::memcmp(module->plan, blob.data(), blob.size()) != 0)
    return damaged("damaged module: its descriptor has another plan than the file");
  kernels = {module->kernels, module->kernel_count};
  const bool simt = note.targets >> DLC_TARGET_SIMT & 1;
  for (const KernelInfo &kernel : plan.kernels)
    if ((kernel.target == DLC_TARGET_CPU || simt) &&
        (kernel.function >= kernels.size() || !kernels[kernel.function]))
      return damaged("damaged module: kernel '", kernel.symbol, "' is function ", kernel.function,
                     " of ", kernels.size());
  return {};
}

Result<std::shared_ptr<const Module>> Module::load(const std::string &path) {
  return guarded([&]() -> Result<std::shared_ptr<const Module>> {
    DLC_TRY_ASSIGN(file, File::openForReading(path));
    DLC_TRY_ASSIGN(image, ModuleImage::copy(std::move(file)));
    auto impl = std::make_unique<Impl>(path, std::move(image));
    DLC_TRY(impl->check().in(path));
    DLC_TRY(impl->openLibrary().in(path));
    return std::shared_ptr<const Module>(new Module(std::move(impl)));
  });
}

Module::Module(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Module::~Module() = default;

const std::string &Module::path() const { return impl->path; }
const Plan &Module::plan() const { return impl->plan; }
const dlc_note &Module::note() const { return impl->note; }
std::span<const dlc_kernel_fn> Module::kernelFunctions() const { return impl->kernels; }

std::string Module::targetNames() const {
  std::string text;
  for (dlc_target target : {DLC_TARGET_CPU, DLC_TARGET_CUDA, DLC_TARGET_SIMT})
    if (compiledFor(target))
      text += concat(text.empty() ? "" : ", ", targetName(target));
  return text;
}

Status Module::requireTarget(dlc_target target) const {
  if (compiledFor(target))
    return {};
  const std::string_view name = target == DLC_TARGET_SIMT ? "cuda:simt" : targetName(target);
  return unsupported(path(), ": compiled for ", targetNames(), ", not for ", targetName(target),
                     "; dlc --target=", name, " compiles for it");
}

std::string Module::graphHash() const { return hexadecimal(impl->note.graph_hash); }

} // namespace dlc::runtime
