// Finds libdlc_hdf5.so.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Hdf5/Plugin.h"

#include <dlfcn.h>

namespace dlc::runtime {

Result<const Hdf5Plugin *> openHdf5Plugin() {
  constexpr const char *name = "libdlc_hdf5.so";
  DLC_TRY_ASSIGN(library, openPlugin(name, "HDF5",
                                     "it is built where CMake finds libhdf5, which "
                                     "scripts/install-deps.sh brings"));
  auto query = reinterpret_cast<Hdf5PluginQuery>(dlsym(library, hdf5PluginSymbol));
  const Hdf5Plugin *plugin = query ? query() : nullptr;
  if (!plugin || plugin->version != hdf5PluginVersion)
    return unsupported("HDF5: ", name, " belongs to another version of dlc");
  return plugin;
}

} // namespace dlc::runtime
