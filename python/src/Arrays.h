// Arrays of Python as the library reads them, and the library's as Python reads them.
#ifndef DLC_PYTHON_SRC_ARRAYS_H
#define DLC_PYTHON_SRC_ARRAYS_H

#include "Errors.h"

#include <dlc/run.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <optional>

namespace dlc::python {

/// What arrays may lie on beside the host: a CUDA device, where they are made ready for a stream of
/// it, a cudaStream_t as a number.
struct Reach {
  std::optional<int> cuda = {};
  uintptr_t stream = 0;
};

/// An array of anything that has DLPack or the buffer protocol, and who owns it: where it lies if
/// that is row-major, else, on the host, a copy.
struct HeldArray {
  nb::ndarray<nb::ro> owner;
  runtime::Array array;
};

/// `what` is for messages: "array 'image'". Fails with InvalidArgument if it is none that the
/// library reads.
HeldArray arrayOf(nb::handle value, std::string what, std::string_view name = {},
                  const Reach &reach = {});

/// A mapping's arrays, by name.
struct HeldArrays {
  std::vector<nb::ndarray<nb::ro>> owners;
  std::vector<runtime::Array> arrays;
};
HeldArrays arraysOf(nb::handle mapping, const Reach &reach = {});

/// Those that the library writes where they lie.
struct HeldOutputs {
  std::vector<nb::ndarray<>> owners;
  std::vector<runtime::OutputArray> arrays;
};
HeldOutputs outputsOf(nb::handle mapping, const Reach &reach);

/// Samples: None, a description, or a mapping, whose arrays live as long as the dataset. `argument`
/// is for messages.
std::shared_ptr<const runtime::Dataset> datasetOf(nb::handle data, const char *argument,
                                                  const runtime::EntryInfo *reader = nullptr);

/// A NumPy array of the library's memory, which lives as long as `owner`, and may be written.
nb::object numpyOf(void *data, dlc_dtype dtype, const std::vector<uint64_t> &shape,
                   nb::handle owner);
/// One that has the bytes.
nb::object numpyOf(std::vector<std::byte> bytes, dlc_dtype dtype,
                   const std::vector<uint64_t> &shape);

/// Losses and metrics by name: numbers, or tables as arrays.
nb::dict metricsOf(const runtime::MetricValues &metrics);

} // namespace dlc::python

#endif
