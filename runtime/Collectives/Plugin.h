// The border to libdlc_mpi.so, the only thing that links MPI: a table behind one exported symbol.
// The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_COLLECTIVES_PLUGIN_H
#define DLC_RUNTIME_COLLECTIVES_PLUGIN_H

#include "runtime/Collectives/Transport.h"

namespace dlc::runtime {

/// Changes with every change of Transport.h.
inline constexpr uint32_t mpiPluginVersion = 4;

struct MpiPlugin {
  uint32_t version;
  Result<std::shared_ptr<Transport>> (*open)(const TransportOptions &options);
};

using MpiPluginQuery = const MpiPlugin *(*)();
inline constexpr const char *mpiPluginSymbol = "dlc_mpi_plugin";

} // namespace dlc::runtime

#endif
