// Libraries that a program opens when they are asked for, so that it does not need what they link.
#ifndef DLC_RUNTIME_CORE_PLUGINLIBRARY_H
#define DLC_RUNTIME_CORE_PLUGINLIBRARY_H

#include "dlc/status.h"

#include <filesystem>

namespace dlc::runtime {

/// Folder of the library that this code is in, or of the program that it was linked into; empty if
/// the system does not say.
std::filesystem::path ownFolder();

/// Opens the first library of this name: beside this one, in ../lib from there, on the
/// loader's path. Fails with Unsupported: `what` begins the message ("device cuda"), `origin` says
/// how one gets the library. It is never to be closed: threads of what it links live in it.
Result<void *> openPlugin(const char *name, std::string_view what, std::string_view origin);

} // namespace dlc::runtime

#endif
