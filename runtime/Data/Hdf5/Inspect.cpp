// Walks through a file, and asks of each dataset how it is stored.
#include "runtime/Data/Hdf5/Inspect.h"
#include "dlc/abi.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Hdf5/Library.h"
#include "runtime/Data/Hdf5/Trial.h"

#include <set>

namespace dlc::runtime {
namespace {

/// What libhdf5 has said, behind a place.
Status failed(std::string_view place) { return damaged(place, ": ", excerpt(hdf5Reason())); }

// ---------------------------------------------------------------------------------------------
// Types

bool isFloat(hid_t type, size_t bytes) {
  struct Format {
    size_t bytes, sign, exponent, mantissa, bias;
  };
  constexpr Format formats[] = {{2, 15, 5, 10, 15}, {4, 31, 8, 23, 127}, {8, 63, 11, 52, 1023}};
  size_t sign, exponentAt, exponent, mantissaAt, mantissa;
  if (H5Tget_fields(type, &sign, &exponentAt, &exponent, &mantissaAt, &mantissa) < 0 ||
      H5Tget_norm(type) != H5T_NORM_IMPLIED)
    return false;
  for (const Format &format : formats)
    if (bytes == format.bytes && sign == format.sign && exponent == format.exponent &&
        exponentAt == format.mantissa && mantissa == format.mantissa && mantissaAt == 0 &&
        H5Tget_ebias(type) == format.bias)
      return true;
  return false;
}

/// h5py's bool: an enumeration of two bytes.
bool isBool(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
    return false;
  const char *const names[] = {"FALSE", "TRUE"};
  for (const char *name : names) {
    uint8_t value = 2;
    if (H5Tenum_valueof(type, name, &value) < 0 || value != (name == names[1]))
      return false;
  }
  return true;
}

void setType(hid_t type, TypedArray &array) {
  const H5T_class_t kind = H5Tget_class(type);
  const size_t bytes = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  array.isBigEndian = order == H5T_ORDER_BE;
  const bool isPlain = H5Tget_precision(type) == 8 * bytes && H5Tget_offset(type) == 0 &&
                       (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
  if (kind == H5T_ENUM && !isBool(type)) {
    const Hdf5Id base(H5Tget_super(type), H5Tclose);
    if (base.ok() && H5Tget_class(base) == H5T_INTEGER)
      return setType(base, array);
  }
  if (kind == H5T_INTEGER && isPlain)
    array.type = concat(H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i", bytes);
  else if (kind == H5T_FLOAT && isPlain)
    array.type = isFloat(type, bytes) ? concat("f", bytes) : "floats of another layout";
  else if (kind == H5T_ENUM || (kind == H5T_BITFIELD && bytes == 1))
    array.type = "b1";
  else
    array.type = kind == H5T_STRING     ? "texts"
                 : kind == H5T_COMPOUND ? "records"
                 : kind == H5T_VLEN     ? "lists"
                                        : "no plain numbers";
}

// ---------------------------------------------------------------------------------------------
// Datasets

/// Calls `take` with the path of each dataset.
class Walk {
public:
  using Take = std::function<Status(const std::string &path)>;
  Walk(const File &file, const SayPlace &say, const Take &take)
      : file(file), say(say), take(take) {}

  /// The datasets of a group and of those in it, `path` in front of their names.
  Status run(hid_t group, const std::string &path, unsigned depth) {
    constexpr unsigned deepest = 16;
    std::vector<std::string> names;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, addName, &names) < 0)
      return failed(path.empty() ? file.path() : placeOf(file, path));
    for (const std::string &name : names) {
      const std::string full = path + name, place = placeOf(file, full);
      say(place);
      H5O_info_t info;
      if (H5Oget_info_by_name2(group, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return failed(place);
      if (info.type == H5O_TYPE_DATASET)
        DLC_TRY(take(full));
      // A group may be in itself.
      if (info.type != H5O_TYPE_GROUP || depth == deepest || !seen.insert(info.addr).second)
        continue;
      const Hdf5Id inner(H5Gopen2(group, name.c_str(), H5P_DEFAULT), H5Gclose);
      if (!inner.ok())
        return failed(place);
      DLC_TRY(run(inner, full + "/", depth + 1));
    }
    return {};
  }

private:
  /// Others lead to other files, or to what has a name of its own.
  static herr_t addName(hid_t, const char *name, const H5L_info_t *info, void *names) {
    const Status added = guarded([&] {
      if (info->type == H5L_TYPE_HARD)
        static_cast<std::vector<std::string> *>(names)->emplace_back(name);
      return Status();
    });
    return added.ok() ? 0 : -1;
  }

  const File &file;
  const SayPlace &say;
  const Take &take;
  std::set<haddr_t> seen;
};

/// One dataset.
class Inspection {
public:
  Inspection(const File &file, NumbersRead &last, hid_t opened, const std::string &name)
      : file(file), last(last), place(placeOf(file, name)),
        dataset(H5Dopen2(opened, name.c_str(), H5P_DEFAULT), H5Dclose) {
    found.array.name = name;
  }

  Result<StoredDataset> run() {
    const Hdf5Id type(dataset.ok() ? H5Dget_type(dataset) : H5I_INVALID_HID, H5Tclose),
        space(dataset.ok() ? H5Dget_space(dataset) : H5I_INVALID_HID, H5Sclose);
    if (!type.ok() || !space.ok())
      return failed(place);
    setType(type, found.array);
    DLC_TRY(setShape(space));
    found.elementBytes = H5Tget_size(type);
    if (found.hasNumbers())
      DLC_TRY(setStorage(type));
    DLC_TRY(checkStorage(found, file));
    return std::move(found);
  }

private:
  Status setShape(hid_t space) {
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > DLC_MAX_RANK || H5Sget_simple_extent_type(space) == H5S_NULL)
      return unsupported(place, ": has no shape of at most ", DLC_MAX_RANK, " axes");
    hsize_t extents[DLC_MAX_RANK] = {};
    H5Sget_simple_extent_dims(space, extents, nullptr);
    found.array.shape.assign(extents, extents + rank);
    return {};
  }

  Status setStorage(hid_t type) {
    const Hdf5Id made(H5Dget_create_plist(dataset), H5Pclose);
    if (!made.ok())
      return failed(place);
    const H5D_layout_t layout = H5Pget_layout(made);
    if (layout == H5D_CHUNKED)
      return setChunks(made);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(made) > 0)
      return unsupported(place, ": lies in other files");
    if (layout == H5D_COMPACT) {
      if (H5Dget_storage_size(dataset) != found.bytes() || found.bytes() > file.size())
        return damaged(place, ": claims ", found.bytes(), " bytes");
      found.whole.resize(found.bytes());
      return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.whole.data()) < 0
                 ? failed(place)
                 : Status();
    }
    found.offset = H5Dget_offset(dataset);
    return found.offset == HADDR_UNDEF ? damaged(place, ": was never written") : Status();
  }

  Status setChunks(hid_t made) {
    hsize_t extents[DLC_MAX_RANK] = {};
    const int rank = H5Pget_chunk(made, DLC_MAX_RANK, extents);
    if (rank < 0 || rank > DLC_MAX_RANK)
      return failed(place);
    found.chunk.assign(extents, extents + rank);
    DLC_TRY(checkStorage(found, file));
    DLC_TRY(setFilters(made));
    return findChunks(made);
  }

  Status setFilters(hid_t made) {
    const int count = H5Pget_nfilters(made);
    for (int i = 0; i < count; ++i) {
      char name[64] = {};
      unsigned flags = 0, settings[8] = {}, known = 0;
      size_t settingCount = std::size(settings);
      const H5Z_filter_t filter =
          H5Pget_filter2(made, static_cast<unsigned>(i), &flags, &settingCount, settings,
                         sizeof(name) - 1, name, &known);
      if (filter == H5Z_FILTER_SHUFFLE && settingCount > 0 && settings[0] > 0)
        found.shuffledBytes = settings[0];
      if (filter == H5Z_FILTER_SHUFFLE)
        found.filters.push_back(Hdf5Filter::Shuffle);
      else if (filter == H5Z_FILTER_DEFLATE)
        found.filters.push_back(Hdf5Filter::Deflate);
      else if (filter == H5Z_FILTER_FLETCHER32)
        found.filters.push_back(Hdf5Filter::Fletcher32);
      else
        return unsupported(
            place, ": is packed by '", name[0] ? excerpt(name) : concat(filter),
            "', expected gzip, shuffle and fletcher32; h5repack -f GZIP=1 makes it so");
    }
    return {};
  }

  /// The first that is not there is the last that is looked for.
  Status findChunks(hid_t made) {
    unsigned options = 0;
    H5Pget_chunk_opts(made, &options);
    const bool edgesUnfiltered = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    const std::vector<uint64_t> grid = gridOf(found);
    std::vector<uint64_t> index(grid.size());
    std::vector<std::byte> room;
    do {
      hsize_t corner[DLC_MAX_RANK], bytes = 0;
      bool isEdge = false;
      for (size_t axis = 0; axis < index.size(); ++axis) {
        corner[axis] = index[axis] * found.chunk[axis];
        isEdge |= corner[axis] + found.chunk[axis] > found.array.shape[axis];
      }
      if (H5Dget_chunk_storage_size(dataset, corner, &bytes) < 0 || bytes == 0)
        return damaged(place, ": chunk ", indexText(index),
                       " is not there: it was never written, or its list is damaged");
      if (bytes > file.size() || bytes > UINT32_MAX)
        return damaged(place, ": chunk ", indexText(index), " claims ", bytes, " bytes");
      room.resize(std::max<uint64_t>(room.size(), bytes));
      uint32_t skipped = 0;
      last.sought = true;
      const bool isThere = H5Dread_chunk(dataset, H5P_DEFAULT, corner, &skipped, room.data()) >= 0;
      last.sought = false;
      if (!isThere || last.bytes != bytes)
        return damaged(place, ": chunk ", indexText(index), ": ", excerpt(hdf5Reason()));
      if (isEdge && edgesUnfiltered)
        skipped = UINT32_MAX;
      found.chunks.push_back({last.offset, static_cast<uint32_t>(bytes), skipped});
    } while (advance(index, grid));
    return {};
  }

  const File &file;
  NumbersRead &last;
  const std::string place;
  const Hdf5Id dataset;
  StoredDataset found;
};

// ---------------------------------------------------------------------------------------------
// Files

/// What is no HDF5 file is called by its name where that is known.
Status checkKind(const File &file) {
  const std::string_view kind = fileKind(file);
  return kind.empty() || kind.starts_with("an HDF5")
             ? Status()
             : damaged(file.path(), ": is ", kind, ", expected an HDF5 file");
}

/// What `take` is given each dataset's path for, in a child.
using Visit = std::function<Status(hid_t opened, NumbersRead &last, const std::string &path)>;

Status visitAll(const File &file, const SayPlace &say, const Visit &visit) {
  say(file.path());
  quietenHdf5();
  NumbersRead last;
  const Hdf5Id access(accessThrough(file, last), H5Pclose);
  const Hdf5Id opened(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  const Hdf5Id root(opened.ok() ? H5Gopen2(opened, "/", H5P_DEFAULT) : H5I_INVALID_HID, H5Gclose);
  if (!root.ok()) {
    DLC_TRY(checkKind(file));
    return failed(file.path());
  }
  const Walk::Take take = [&](const std::string &path) { return visit(opened, last, path); };
  return Walk(file, say, take).run(root, "", 0);
}

} // namespace

Result<std::vector<std::string>> namesInHdf5(const File &file) {
  DLC_TRY_ASSIGN(said, tryInChild([&](const SayPlace &say) -> Result<std::string> {
                   std::string names;
                   DLC_TRY(visitAll(file, say, [&](hid_t, NumbersRead &, const std::string &path) {
                     names.append(path).push_back('\0');
                     return Status();
                   }));
                   return names;
                 }));
  std::vector<std::string> names;
  for (std::string_view rest = said; !rest.empty();) {
    names.emplace_back(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
  }
  return names;
}

Result<std::vector<StoredDataset>>
inspectHdf5(const File &file, const std::function<bool(std::string_view)> &wanted) {
  DLC_TRY_ASSIGN(
      said, tryInChild([&](const SayPlace &say) -> Result<std::string> {
        std::string text;
        DLC_TRY(visitAll(file, say,
                         [&](hid_t opened, NumbersRead &last, const std::string &path) -> Status {
                           if (!wanted(path))
                             return {};
                           DLC_TRY_ASSIGN(dataset, Inspection(file, last, opened, path).run());
                           append(text, dataset);
                           return {};
                         }));
        return text;
      }));
  std::vector<StoredDataset> datasets;
  for (std::string_view rest = said; !rest.empty();) {
    StoredDataset &dataset = datasets.emplace_back();
    if (!take(rest, dataset))
      return damaged(file.path(), ": is damaged, and its datasets with it");
    DLC_TRY(checkStorage(dataset, file));
  }
  return datasets;
}

} // namespace dlc::runtime
