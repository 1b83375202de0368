// What a failure of the library is in Python, and what its lines say there.
#ifndef DLC_PYTHON_SRC_ERRORS_H
#define DLC_PYTHON_SRC_ERRORS_H

#include <dlc/status.h>
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace dlc::python {

namespace nb = nanobind;
using runtime::Result, runtime::Status, runtime::StatusCode;

/// A line of the library's as Python says it: fields of options in backquotes are the arguments of
/// Python, `checkpointEvery` is `checkpoint_every`. Bytes that are no UTF-8 are what os.fsdecode()
/// makes of them.
nb::object lineOf(std::string_view line);

/// Raises the exception of that code, see python/dlc/_errors.py.
[[noreturn]] void raise(StatusCode code, std::string_view message);

inline void check(const Status &status) {
  if (!status.ok())
    raise(status.code(), status.message());
}

inline void valueOf(Status status) { check(status); }
template <typename T> T valueOf(Result<T> result) {
  check(result.status());
  return result.take();
}

} // namespace dlc::python

#endif
