// DLPack and the buffer protocol, by way of nanobind.
#include "Arrays.h"

#include <algorithm>
#include <cstring>
#include <nanobind/stl/pair.h>

namespace dlc::python {

using namespace runtime;
using Code = nb::dlpack::dtype_code;

static constexpr std::pair<dlc_dtype, nb::dlpack::dtype> dtypes[] = {
    {DLC_F32, {uint8_t(Code::Float), 32, 1}},   {DLC_F64, {uint8_t(Code::Float), 64, 1}},
    {DLC_BF16, {uint8_t(Code::Bfloat), 16, 1}}, {DLC_F16, {uint8_t(Code::Float), 16, 1}},
    {DLC_I32, {uint8_t(Code::Int), 32, 1}},     {DLC_I64, {uint8_t(Code::Int), 64, 1}},
    {DLC_U8, {uint8_t(Code::UInt), 8, 1}},      {DLC_BOOL, {uint8_t(Code::Bool), 8, 1}},
};
static constexpr nb::dlpack::dtype bits16 = {uint8_t(Code::UInt), 16, 1};

static std::string typeName(nb::handle value) {
  return nb::cast<std::string>(nb::str(value.type().attr("__name__")));
}

/// ml_dtypes.bfloat16, which neither DLPack nor the buffer protocol knows of NumPy.
static bool isNumpyBfloat16(nb::handle value) {
  const nb::object dtype = nb::getattr(value, "dtype", nb::none());
  return nb::hasattr(dtype, "name") && nb::hasattr(value, "view") &&
         nb::cast<std::string>(nb::str(dtype.attr("name"))) == "bfloat16";
}

/// Where it lies by DLPack's numbers of a kind and of a device; none if it does not say.
static std::optional<std::pair<int, int>> deviceOf(nb::handle value) {
  std::pair<int, int> device;
  try {
    if (nb::hasattr(value, "__dlpack_device__") &&
        nb::try_cast(value.attr("__dlpack_device__")(), device))
      return device;
  } catch (const nb::python_error &) {
    // It has none that DLPack knows.
  }
  return {};
}

static bool isOnCuda(const std::optional<std::pair<int, int>> &device) {
  return device && device->first == nb::device::cuda::value;
}

static dlc_dtype dtypeOf(const nb::dlpack::dtype &given, bool isBfloat16, const std::string &what) {
  const auto known = std::ranges::find_if(dtypes, [&](const auto &each) {
    return isBfloat16 ? each.first == DLC_BF16 : each.second == given;
  });
  if (known == std::end(dtypes))
    raise(StatusCode::InvalidArgument,
          what + " has a dtype that dlc has not; there are: float32, float64, float16, bfloat16, "
                 "int32, int64, uint8, bool");
  return known->first;
}

/// The array on the run's device, ready for its stream. The owner of that makes it so.
template <typename Array>
static Array onDevice(nb::handle value, const std::string &what, int device, const Reach &reach) {
  if (device != *reach.cuda)
    raise(StatusCode::InvalidArgument, what + " lies on CUDA device " + std::to_string(device) +
                                           ", the run is on device " + std::to_string(*reach.cuda));
  const uintptr_t defaultStream = 1; // of DLPack
  const nb::object capsule = value.attr("__dlpack__")(
      nb::arg("stream") = reach.stream == 0 ? defaultStream : reach.stream);
  Array array;
  if (!nb::try_cast(capsule, array))
    raise(StatusCode::InvalidArgument,
          what + " has gaps or is not row-major: make it contiguous first");
  return array;
}

/// Pinned memory is the host's too.
template <typename Array> static bool isOnHost(const Array &array) {
  return array.device_type() == nb::device::cpu::value ||
         array.device_type() == nb::device::cuda_host::value;
}

[[noreturn]] static void refuse(nb::handle value, const std::string &what) {
  if (const auto device = deviceOf(value); isOnCuda(device))
    raise(StatusCode::InvalidArgument, what + " lies on CUDA device " +
                                           std::to_string(device->second) +
                                           ", and is read on the host: copy it there first");
  raise(StatusCode::InvalidArgument,
        what + " is no array: '" + typeName(value) +
            "'; expected one with DLPack or the buffer protocol, in memory of the host and its "
            "order of bytes");
}

HeldArray arrayOf(nb::handle value, std::string what, std::string_view name, const Reach &reach) {
  nb::ndarray<nb::ro, nb::c_contig> array;
  const auto device = reach.cuda ? deviceOf(value) : std::nullopt;
  const bool isThere = isOnCuda(device);
  bool isBfloat16 = false;
  if (isThere) {
    array = onDevice<decltype(array)>(value, what, device->second, reach);
  } else if (!nb::try_cast(value, array) || !isOnHost(array)) {
    isBfloat16 = isNumpyBfloat16(value);
    if (!isBfloat16 || !nb::try_cast(value.attr("view")("uint16"), array))
      refuse(value, what);
  }
  return {nb::ndarray<nb::ro>(array),
          {std::string(name),
           dtypeOf(array.dtype(), isBfloat16, what),
           {array.shape_ptr(), array.shape_ptr() + array.ndim()},
           array.data(),
           isThere ? Place::Device : Place::Host}};
}

/// Calls body(name, value) for each array of a mapping.
template <typename Body> static void forEachArray(nb::handle mapping, const Body &body) {
  nb::object own;
  if (!PyDict_Check(mapping.ptr())) {
    if (!nb::hasattr(mapping, "keys"))
      raise(StatusCode::InvalidArgument,
            "expected a dict of arrays by name, not '" + typeName(mapping) + "'");
    own = nb::steal(PyObject_CallOneArg(reinterpret_cast<PyObject *>(&PyDict_Type), mapping.ptr()));
    if (!own)
      throw nb::python_error();
    mapping = own;
  }
  for (const auto [key, value] : nb::borrow<nb::dict>(mapping)) {
    std::string name;
    if (!nb::try_cast(key, name))
      raise(StatusCode::InvalidArgument,
            "names of arrays are strings, not '" + typeName(key) + "'");
    body(name, value);
  }
}

HeldArrays arraysOf(nb::handle mapping, const Reach &reach) {
  HeldArrays all;
  forEachArray(mapping, [&](const std::string &name, nb::handle value) {
    HeldArray held = arrayOf(value, "array '" + name + "'", name, reach);
    all.owners.push_back(std::move(held.owner));
    all.arrays.push_back(std::move(held.array));
  });
  return all;
}

HeldOutputs outputsOf(nb::handle mapping, const Reach &reach) {
  HeldOutputs all;
  forEachArray(mapping, [&](const std::string &name, nb::handle value) {
    const std::string what = "array '" + name + "'";
    nb::ndarray<nb::c_contig> array;
    const auto device = deviceOf(value);
    const bool isThere = reach.cuda && isOnCuda(device), isBfloat16 = isNumpyBfloat16(value);
    if (isThere) {
      array = onDevice<decltype(array)>(value, what, device->second, reach);
    } else if (isOnCuda(device)) {
      refuse(value, what);
    } else {
      // A copy that is row-major or may be written would not be the program's array.
      const nb::object bits = isBfloat16 ? value.attr("view")("uint16") : nb::borrow(value);
      if (!nb::try_cast(bits, array, /*convert=*/false) || !isOnHost(array))
        raise(StatusCode::InvalidArgument,
              what + " cannot be written: expected a row-major array that is not read only");
    }
    all.arrays.push_back({name,
                          dtypeOf(array.dtype(), isBfloat16, what),
                          {array.shape_ptr(), array.shape_ptr() + array.ndim()},
                          array.data(),
                          isThere ? Place::Device : Place::Host});
    all.owners.emplace_back(array);
  });
  return all;
}

std::shared_ptr<const Dataset> datasetOf(nb::handle data, const char *argument,
                                         const EntryInfo *reader) {
  if (data.is_none())
    return {};
  if (std::string description; nb::try_cast(data, description)) {
    auto opened = [&] {
      const nb::gil_scoped_release release;
      return openDataset(description, Split::Test, reader);
    }();
    return valueOf(std::move(opened));
  }
  HeldArrays held = arraysOf(data);
  auto dataset = valueOf(runtime::datasetOf(std::move(held.arrays), argument));
  const Dataset *samples = dataset.get();
  auto owners = std::make_shared<decltype(held.owners)>(std::move(held.owners));
  return {samples, [dataset = std::move(dataset), owners = std::move(owners)](auto *) {}};
}

/// ml_dtypes has what NumPy has not.
static nb::object withBfloat16(const nb::object &bits) {
  nb::object library;
  try {
    library = nb::module_::import_("ml_dtypes");
  } catch (const nb::python_error &) {
    raise(StatusCode::Unsupported, "NumPy has no bfloat16: pip install ml_dtypes");
  }
  return bits.attr("view")(library.attr("bfloat16"));
}

nb::object numpyOf(void *data, dlc_dtype dtype, const std::vector<uint64_t> &shape,
                   nb::handle owner) {
  const auto known =
      std::ranges::find(dtypes, dtype, &std::pair<dlc_dtype, nb::dlpack::dtype>::first);
  const std::vector<size_t> extents(shape.begin(), shape.end());
  const nb::object array = nb::cast(
      nb::ndarray<nb::numpy>(data, extents.size(), extents.data(), owner, nullptr,
                             dtype == DLC_BF16 ? bits16 : known->second, nb::device::cpu::value));
  return dtype == DLC_BF16 ? withBfloat16(array) : array;
}

nb::object numpyOf(std::vector<std::byte> bytes, dlc_dtype dtype,
                   const std::vector<uint64_t> &shape) {
  auto own = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  std::byte *data = own->data();
  const nb::capsule owner(
      own.get(), [](void *owned) noexcept { delete static_cast<std::vector<std::byte> *>(owned); });
  own.release();
  return numpyOf(data, dtype, shape, owner);
}

nb::dict metricsOf(const MetricValues &metrics) {
  nb::dict all;
  for (const auto &[name, value] : metrics) {
    if (value.table.empty()) {
      all[name.c_str()] = value.number;
      continue;
    }
    std::vector<std::byte> bytes(value.table.size() * sizeof(double));
    std::memcpy(bytes.data(), value.table.data(), bytes.size());
    all[name.c_str()] = numpyOf(std::move(bytes), DLC_F64, {value.side(), value.side()});
  }
  return all;
}

} // namespace dlc::python
