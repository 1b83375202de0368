// What libdlc_mpi.so exports.
#include "runtime/Collectives/Plugin.h"
#include "runtime/Collectives/MpiTransport.h"

using namespace dlc::runtime;

extern "C" __attribute__((visibility("default"))) const MpiPlugin *dlc_mpi_plugin() {
  static const MpiPlugin plugin = {mpiPluginVersion, MpiTransport::open};
  return &plugin;
}
