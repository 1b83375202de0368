// libhdf5, which is called in child processes alone: it may be ended by a damaged file.
#ifndef DLC_RUNTIME_DATA_HDF5_LIBRARY_H
#define DLC_RUNTIME_DATA_HDF5_LIBRARY_H

#include "runtime/Core/File.h"

// The functions as 1.10 has them, of later versions as well.
#define H5_USE_110_API
#include <hdf5.h>
#include <string>
#include <utility>

namespace dlc::runtime {

/// What a call has given, closed at the end of its scope.
class Hdf5Id {
public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id(hid_t id, Close close) : id(id), close(close) {}
  Hdf5Id(const Hdf5Id &) = delete;
  ~Hdf5Id() {
    if (ok())
      close(id);
  }
  bool ok() const { return id >= 0; }
  operator hid_t() const { return id; }

private:
  hid_t id;
  Close close;
};

/// Silences libhdf5, which prints what goes wrong, and lets it look for no libraries of filters.
void quietenHdf5();

/// What the last call that failed says, of where it began: "bad object header version number".
std::string hdf5Reason();

/// The bytes of a file that libhdf5 has asked for last as numbers of a dataset: it is not given
/// them while they are `sought`.
struct NumbersRead {
  bool sought = false;
  haddr_t offset = HADDR_UNDEF;
  size_t bytes = 0;
};

/// A property list for H5Fopen by which it reads through `file`, and leaves in `last` where numbers
/// are. Both outlive what is opened.
hid_t accessThrough(const File &file, NumbersRead &last);

} // namespace dlc::runtime

#endif
