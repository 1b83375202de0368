// Where plugins are looked for.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"

#include <dlfcn.h>
#include <link.h>

namespace dlc::runtime {

namespace fs = std::filesystem;

fs::path ownFolder() {
  Dl_info info;
  link_map *object = nullptr;
  std::error_code ignored;
  if (dladdr1(reinterpret_cast<void *>(ownFolder), &info, reinterpret_cast<void **>(&object),
              RTLD_DL_LINKMAP) &&
      object->l_name[0])
    return fs::canonical(object->l_name, ignored).parent_path();
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Result<void *> openPlugin(const char *name, std::string_view what, std::string_view origin) {
  const fs::path own = ownFolder(), beside = (own / "../lib").lexically_normal();
  for (const fs::path &path : {own / name, beside / name, fs::path(name)}) {
    std::error_code ignored;
    if (path.has_parent_path() && !fs::exists(path, ignored))
      continue;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    if (path.has_parent_path()) {
      const char *reason = dlerror();
      return unsupported(what, ": ", path.string(),
                         " cannot be opened: ", reason ? reason : "unknown reason");
    }
  }
  return unsupported(what, ": no ", name, " in ", own.string(),
                     beside == own ? "" : concat(", ", beside.string()),
                     " or on the loader's path; ", origin);
}

} // namespace dlc::runtime
