// How every call of the runtime reports failure: a Status, or a Result that holds either a value or
// the Status that says why there is none. Nothing throws over the library's border.
//
// A message is one line, lower case, without a full stop, and names the file, entry or tensor that
// it is about. Whatever a damaged file or a path puts into it, it stays one line of at most about
// 1,000 bytes: control characters are written as \xNN, and what is longer lacks its middle.
//
// Threads: plain values; distinct objects may be used by distinct threads.
// Failure: memory that cannot be had, of any size, is a Status like any other; that one takes no
// memory itself.
#ifndef DLC_STATUS_H
#define DLC_STATUS_H

#include "dlc/version.h"

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dlc::runtime {

enum class StatusCode : uint8_t {
  Ok,
  /// The caller asked for something that cannot be: an unknown name, a wrong size or dtype.
  InvalidArgument,
  /// The operating system refused: no such file, no space, no permission.
  Io,
  /// A file is not what it claims to be.
  Damaged,
  /// The file is sound, but this machine or this version cannot serve it.
  Unsupported,
  OutOfMemory,
  /// The computation itself went wrong: a loss that is not a number.
  Failed,
};

/// Success, or a code with a message.
class [[nodiscard]] DLC_API Status {
public:
  Status() = default;
  Status(StatusCode code, std::string_view message);
  /// What is left to say where there is no memory for a message.
  static Status outOfMemory() noexcept {
    Status status;
    status.reason = StatusCode::OutOfMemory;
    return status;
  }

  bool ok() const { return reason == StatusCode::Ok; }
  StatusCode code() const { return reason; }
  /// Empty if ok().
  std::string_view message() const {
    return text ? std::string_view(*text) : ok() ? "" : "out of memory";
  }

  /// The same failure, its message preceded by `context` and ": " unless there is no memory for it.
  /// Success stays success.
  Status in(std::string_view context) && noexcept;

private:
  StatusCode reason = StatusCode::Ok;
  std::unique_ptr<std::string> text;
};

/// A T, or the Status that says why there is none. Owns the value; take() moves it out. A T & is
/// the value of somebody else, who says how long it is there.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Status failure) : failure(std::move(failure)) {
    assert(!this->failure.ok() && "a result without a value needs a reason");
  }

  bool ok() const { return value.has_value(); }
  /// The reason, or success if there is a value.
  const Status &status() const { return failure; }
  Status takeStatus() { return std::move(failure); }

  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  T take() { return std::move(*value); }

private:
  std::optional<T> value;
  Status failure;
};

template <typename T> class [[nodiscard]] Result<T &> {
public:
  Result(T &value) : value(&value) {}
  Result(T &&value) = delete;
  Result(Status failure) : failure(std::move(failure)) {
    assert(!this->failure.ok() && "a result without a value needs a reason");
  }

  bool ok() const { return value; }
  const Status &status() const { return failure; }
  Status takeStatus() { return std::move(failure); }

  T &operator*() const { return *value; }
  T *operator->() const { return value; }
  T &take() const { return *value; }

private:
  T *value = nullptr;
  Status failure;
};

} // namespace dlc::runtime

#endif
