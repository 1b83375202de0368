// What libdlc_images.so exports.
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/Pictures/DecodePicture.h"
#include "runtime/Data/Pictures/EncodePicture.h"
#include "runtime/Data/Pictures/ListFile.h"

using namespace dlc::runtime;

extern "C" __attribute__((visibility("default"))) const ImagesPlugin *dlc_images_plugin() {
  static const ImagesPlugin plugin = {imagesPluginVersion, decodePicture, encodePicture,
                                      readPictureList};
  return &plugin;
}
