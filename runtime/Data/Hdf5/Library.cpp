// Errors of libhdf5, and a driver for its files.
#include "runtime/Data/Hdf5/Library.h"

#include <cstring>
#include <new>
#include <span>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

namespace dlc::runtime {
namespace {

/// The innermost error is the first where one goes upward.
herr_t keepReason(unsigned number, const H5E_error2_t *error, void *text) {
  if (number == 0 && error->desc)
    *static_cast<std::string *>(text) = error->desc;
  return 0;
}

struct Access {
  const File *file;
  NumbersRead *last;
};

struct OpenFile {
  /// First, as libhdf5 knows no more of it.
  H5FD_t known;
  Access access;
  haddr_t end;
};

OpenFile &openFile(H5FD_t *file) { return *reinterpret_cast<OpenFile *>(file); }
const OpenFile &openFile(const H5FD_t *file) { return *reinterpret_cast<const OpenFile *>(file); }

H5FD_t *openDriver(const char *, unsigned, hid_t list, haddr_t) {
  const auto *access = static_cast<const Access *>(H5Pget_driver_info(list));
  auto *opened = access ? new (std::nothrow) OpenFile{{}, *access, 0} : nullptr;
  return opened ? &opened->known : nullptr;
}

herr_t closeDriver(H5FD_t *file) {
  delete &openFile(file);
  return 0;
}

herr_t queryDriver(const H5FD_t *, unsigned long *features) {
  *features = 0;
  return 0;
}

haddr_t endOfAllocated(const H5FD_t *file, H5FD_mem_t) { return openFile(file).end; }
herr_t setEndOfAllocated(H5FD_t *file, H5FD_mem_t, haddr_t end) {
  openFile(file).end = end;
  return 0;
}
haddr_t endOfFile(const H5FD_t *file, H5FD_mem_t) { return openFile(file).access.file->size(); }

herr_t readDriver(H5FD_t *file, H5FD_mem_t kind, hid_t, haddr_t offset, size_t bytes, void *to) {
  const Access &access = openFile(file).access;
  if (kind != H5FD_MEM_DRAW || !access.last->sought)
    return access.file->readAt(offset, {static_cast<std::byte *>(to), bytes}).ok() ? 0 : -1;
  access.last->offset = offset;
  access.last->bytes = bytes;
  return 0;
}

herr_t writeDriver(H5FD_t *, H5FD_mem_t, hid_t, haddr_t, size_t, const void *) { return -1; }

H5FD_class_t driver() {
  H5FD_class_t made = {};
#ifdef H5FD_CLASS_VERSION
  made.version = H5FD_CLASS_VERSION;
  made.value = static_cast<H5FD_class_value_t>(600); // one of those for others' drivers
#endif
  made.name = "dlc";
  made.maxaddr = HADDR_MAX;
  made.fc_degree = H5F_CLOSE_WEAK;
  made.fapl_size = sizeof(Access);
  made.open = openDriver;
  made.close = closeDriver;
  made.query = queryDriver;
  made.get_eoa = endOfAllocated;
  made.set_eoa = setEndOfAllocated;
  made.get_eof = endOfFile;
  made.read = readDriver;
  made.write = writeDriver;
  const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::memcpy(made.fl_map, kinds, sizeof(kinds));
  return made;
}

} // namespace

void quietenHdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

std::string hdf5Reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keepReason, &text);
  return text;
}

hid_t accessThrough(const File &file, NumbersRead &last) {
  static const H5FD_class_t known = driver();
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const Access access = {&file, &last};
  return H5Pset_driver(list, H5FDregister(&known), &access) < 0 ? H5I_INVALID_HID : list;
}

} // namespace dlc::runtime
