// What libdlc_hdf5.so exports.
#include "runtime/Data/Hdf5/Plugin.h"
#include "runtime/Data/Hdf5/Reader.h"

using namespace dlc::runtime;

extern "C" __attribute__((visibility("default"))) const Hdf5Plugin *dlc_hdf5_plugin() {
  static const Hdf5Plugin plugin = {hdf5PluginVersion, namesInHdf5, openHdf5};
  return &plugin;
}
