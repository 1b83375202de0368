// DLPack and the buffer protocol, by way of nanobind.
#include "Arrays.h"

#include <algorithm>
#include <cstring>

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

HeldArray arrayOf(nb::handle value, std::string what, std::string_view name) {
  HeldArray held;
  bool isBfloat16 = false;
  if (!nb::try_cast(value, held.owner)) {
    isBfloat16 = isNumpyBfloat16(value);
    if (!isBfloat16 || !nb::try_cast(value.attr("view")("uint16"), held.owner))
      raise(StatusCode::InvalidArgument,
            what + " is no array: '" + typeName(value) +
                "'; expected one with DLPack or the buffer protocol, in memory of the host and its "
                "order of bytes");
  }
  const nb::dlpack::dtype given = held.owner.dtype();
  const auto known = std::ranges::find_if(dtypes, [&](const auto &each) {
    return isBfloat16 ? each.first == DLC_BF16 : each.second == given;
  });
  if (known == std::end(dtypes))
    raise(StatusCode::InvalidArgument,
          what + " has a dtype that dlc has not; there are: float32, float64, float16, bfloat16, "
                 "int32, int64, uint8, bool");
  held.array = {std::string(name),
                known->first,
                {held.owner.shape_ptr(), held.owner.shape_ptr() + held.owner.ndim()},
                held.owner.data()};
  return held;
}

HeldArrays arraysOf(nb::handle mapping) {
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
  HeldArrays all;
  for (const auto [key, value] : nb::borrow<nb::dict>(mapping)) {
    std::string name;
    if (!nb::try_cast(key, name))
      raise(StatusCode::InvalidArgument,
            "names of arrays are strings, not '" + typeName(key) + "'");
    HeldArray held = arrayOf(value, "array '" + name + "'", name);
    all.owners.push_back(std::move(held.owner));
    all.arrays.push_back(std::move(held.array));
  }
  return all;
}

std::shared_ptr<const Dataset> datasetOf(nb::handle data, const char *argument) {
  if (data.is_none())
    return {};
  if (std::string description; nb::try_cast(data, description)) {
    const nb::gil_scoped_release release;
    return valueOf(openDataset(description, Split::Test));
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
