// Finds libdlc_images.so.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Plugin.h"

#include <dlfcn.h>

namespace dlc::runtime {

static Result<const ImagesPlugin *> openImagesPlugin() {
  constexpr const char *name = "libdlc_images.so";
  DLC_TRY_ASSIGN(library, openPlugin(name, "pictures",
                                     "it is built where CMake finds libjpeg-turbo, libpng and "
                                     "libwebp, which scripts/install-deps.sh brings"));
  auto query = reinterpret_cast<ImagesPluginQuery>(dlsym(library, imagesPluginSymbol));
  const ImagesPlugin *plugin = query ? query() : nullptr;
  if (!plugin || plugin->version != imagesPluginVersion)
    return unsupported("pictures: ", name, " belongs to another version of dlc");
  return plugin;
}

Result<PictureDecoder> openPictureDecoder() {
  DLC_TRY_ASSIGN(plugin, openImagesPlugin());
  return plugin->decode;
}

Result<PictureEncoder> openPictureEncoder() {
  DLC_TRY_ASSIGN(plugin, openImagesPlugin());
  return plugin->encode;
}

Result<PictureListReader> openPictureListReader() {
  DLC_TRY_ASSIGN(plugin, openImagesPlugin());
  return plugin->readList;
}

} // namespace dlc::runtime
