// Loading: check the file, decode and check the plan, and only then open the library.
#include "dlc/module.h"
#include "runtime/Core/File.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/PlanDecoder.h"
#include "runtime/Core/Support.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace dlc::runtime {

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};

struct Module::Impl {
  ~Impl() {
    if (library)
      dlclose(library);
  }
  Status readFile();
  Status takeContent(std::span<const std::byte> content);
  Status openLibrary();
  Status checkLibrary(const dlc_module *module);

  std::string path;
  dlc_note note = {};
  /// An own copy of the plan: what was checked stays what is used, whatever happens to the file.
  std::unique_ptr<std::byte, FreeMemory> blob;
  uint64_t blobSize = 0;
  Plan plan;
  void *library = nullptr;
  std::span<const dlc_kernel_fn> kernels;
};

Status Module::Impl::readFile() {
  // A module holds code and tables; what is larger than this is none.
  constexpr uint64_t limit = uint64_t(4) << 30;
  DLC_TRY_ASSIGN(content, readWholeFile(path, limit));
  return takeContent(content).in(path);
}

Status Module::Impl::takeContent(std::span<const std::byte> content) {
  DLC_TRY_ASSIGN(file, locateModule(content));
  DLC_TRY(checkModule(content, file));
  note = file.note;
  blobSize = file.planAt.size;
  const size_t padded = alignUp(blobSize, DLC_ALIGNMENT);
  blob.reset(static_cast<std::byte *>(std::aligned_alloc(DLC_ALIGNMENT, padded)));
  if (!blob)
    return failure(StatusCode::OutOfMemory, "no memory for a plan of ", blobSize, " bytes");
  std::memcpy(blob.get(), content.data() + file.planAt.offset, blobSize);
  DLC_TRY_ASSIGN(decoded, decodePlan({blob.get(), blobSize}));
  plan = std::move(decoded);
  return {};
}

Status Module::Impl::openLibrary() {
  // A name without a slash would be searched for in the library path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return damaged("cannot be opened as a library: ", reason ? reason : "unknown reason");
  }
  auto query = reinterpret_cast<dlc_module_query_fn>(dlsym(library, "dlc_module_query"));
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
  // The library was opened by name; it must be the file that was checked.
  if (module->plan_size != blobSize || std::memcmp(module->plan, blob.get(), blobSize) != 0)
    return damaged("the file changed while it was loaded");
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
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    DLC_TRY(impl->readFile());
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
