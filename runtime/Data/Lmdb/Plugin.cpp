// What libdlc_lmdb.so exports.
#include "runtime/Data/Lmdb/Plugin.h"
#include "runtime/Data/Lmdb/Database.h"

using namespace dlc::runtime;

extern "C" __attribute__((visibility("default"))) const LmdbPlugin *dlc_lmdb_plugin() {
  static const LmdbPlugin plugin = {lmdbPluginVersion, openLmdb, createLmdb};
  return &plugin;
}
