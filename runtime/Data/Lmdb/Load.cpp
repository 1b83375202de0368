// Finds libdlc_lmdb.so.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Lmdb/Plugin.h"

#include <dlfcn.h>

namespace dlc::runtime {

Result<const LmdbPlugin *> openLmdbPlugin() {
  constexpr const char *name = "libdlc_lmdb.so";
  DLC_TRY_ASSIGN(library, openPlugin(name, "LMDB",
                                     "it is built where CMake finds liblmdb, which "
                                     "scripts/install-deps.sh brings"));
  auto query = reinterpret_cast<LmdbPluginQuery>(dlsym(library, lmdbPluginSymbol));
  const LmdbPlugin *plugin = query ? query() : nullptr;
  if (!plugin || plugin->version != lmdbPluginVersion)
    return unsupported("LMDB: ", name, " belongs to another version of dlc");
  return plugin;
}

} // namespace dlc::runtime
