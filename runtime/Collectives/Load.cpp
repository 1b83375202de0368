// Chooses the transport, and finds libdlc_mpi.so.
#include "runtime/Collectives/Plugin.h"
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"

#include <dlfcn.h>

namespace dlc::runtime {

static Result<std::shared_ptr<Transport>> openMpi(const TransportOptions &options) {
  constexpr const char *name = "libdlc_mpi.so";
  DLC_TRY_ASSIGN(library, openPlugin(name, "ranks",
                                     "it is built where CMake finds Open MPI, which "
                                     "scripts/install-deps.sh brings"));
  auto query = reinterpret_cast<MpiPluginQuery>(dlsym(library, mpiPluginSymbol));
  const MpiPlugin *plugin = query ? query() : nullptr;
  if (!plugin || plugin->version != mpiPluginVersion)
    return unsupported("ranks: ", name, " belongs to another version of dlc");
  return plugin->open(options);
}

Result<std::shared_ptr<Transport>> openTransport(const TransportOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Transport>> {
    if (options.communicator)
      return openMpi(options);
    const Launched launched = launchedBy();
    if (launched.ranks <= 1)
      return selfTransport();
    DLC_TRY_ASSIGN(transport, openMpi(options));
    if (transport->ranks() != launched.ranks)
      return unsupported("ranks: ", launched.by, " started ", launched.ranks,
                         " processes, MPI knows of ", transport->ranks(),
                         "; Open MPI's mpirun or 'srun --mpi=pmix' starts them so that they find "
                         "each other");
    return transport;
  });
}

} // namespace dlc::runtime
