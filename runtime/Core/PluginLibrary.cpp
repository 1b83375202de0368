// Where plugins are looked for.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"

#include <dlfcn.h>

namespace dlc::runtime {

namespace fs = std::filesystem;

fs::path programFolder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Result<void *> openPlugin(const char *name, std::string_view what, std::string_view origin) {
  const fs::path folder = programFolder();
  for (const fs::path &path : {folder / name, folder / "../lib" / name, fs::path(name)}) {
    std::error_code ignored;
    if (path.has_parent_path() && !fs::exists(path, ignored))
      continue;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    if (path.has_parent_path()) {
      const char *reason = dlerror();
      return unsupported(what, ": ", path.lexically_normal().string(),
                         " cannot be opened: ", reason ? reason : "unknown reason");
    }
  }
  return unsupported(what, ": no ", name,
                     " beside the program, in ../lib or on the loader's path; ", origin);
}

} // namespace dlc::runtime
