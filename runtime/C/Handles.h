// The live handles of the C API: what each stands for, and who is at work in it.
//
// A handle is a number, never given twice, so that one that was freed is told from all others. A
// process that came from a fork has none of its parent's: their threads are not there.
//
// Threads: all of it from any thread. Nothing is locked while a call of the API is at work, nor to
// look a handle up, which a signal's handler may do.
#ifndef DLC_RUNTIME_C_HANDLES_H
#define DLC_RUNTIME_C_HANDLES_H

#include "dlc/c.h"
#include "dlc/status.h"

#include <atomic>
#include <memory>
#include <string>

namespace dlc::runtime {

/// `text` with the names that fields have in C: `checkpointEvery` is `checkpoint_every`, and
/// `batches.fill` is `batches_fill`.
std::string withFieldsOfC(std::string_view text);

/// Keeps the reason for dlc_message() on this thread; returns the failure's code. Success stays.
dlc_status report(const Status &status) noexcept;
dlc_status refuse(dlc_status status, std::string_view message) noexcept;

/// What callbacks may call; each what those before it may.
enum class Calls : uint8_t { Nothing, Reading, Setting, Evaluating, Everything };

/// Says who is at work in a handle, or in a run and its ranks together.
class Occupancy {
public:
  /// While a callback is called on the thread that is at work, it may call so much.
  class Callback {
  public:
    Callback(Occupancy &occupancy, Calls allowed) : occupancy(occupancy) {
      occupancy.allowed = allowed;
    }
    ~Callback() { occupancy.allowed = Calls::Nothing; }
    Callback(const Callback &) = delete;

  private:
    Occupancy &occupancy;
  };

  /// False, with the reason in `why`, where another thread is at work, or where this one is in a
  /// callback that may not call what needs so much. `outer` is what leave() takes.
  bool enter(Calls needed, Calls &outer, const char *&why);
  void leave(Calls outer);

private:
  /// An address that the thread at work has for itself; null: none is.
  std::atomic<const void *> owner = nullptr;
  /// Of the owner: what may be called now.
  Calls allowed = Calls::Nothing;
};

enum class HandleKind : uint8_t { Run, Ranks };

/// What a handle stands for.
struct HandleObject {
  explicit HandleObject(HandleKind kind) : kind(kind) {}
  virtual ~HandleObject() = default;

  const HandleKind kind;
  /// That of the handle.
  uintptr_t number = 0;
  /// In the list: the one that was added before it.
  std::atomic<HandleObject *> next = nullptr;
  std::shared_ptr<Occupancy> occupancy = std::make_shared<Occupancy>();
};

/// The handle of a new object. Throws where there is no memory.
void *addHandle(std::unique_ptr<HandleObject> object);

/// One call of the API at work in a handle: it is not freed meanwhile, and no other thread enters.
class HandleWork {
public:
  HandleWork() = default;
  ~HandleWork() {
    if (occupancy)
      occupancy->leave(outer);
  }
  HandleWork(const HandleWork &) = delete;

  /// DLC_NOT_ALIVE or DLC_IN_USE, with its message, if it cannot begin. What `other` is at work in
  /// already is entered with it.
  dlc_status begin(const void *handle, HandleKind kind, Calls needed,
                   const HandleWork *other = nullptr) noexcept;
  HandleObject &object() const { return *found; }
  /// Ends the handle, and the object with it.
  void end() noexcept;

private:
  HandleObject *found = nullptr;
  std::shared_ptr<Occupancy> occupancy;
  Calls outer = Calls::Everything;
};

/// What frees a handle of the API.
dlc_status freeHandle(const void *handle, HandleKind kind) noexcept;

/// Calls visit(object), which is not freed meanwhile, whoever is at work in it: for what is short
/// and may be done from any thread, a signal's handler included. Returns why not, or null.
const char *visitHandle(const void *handle, HandleKind kind, void (*visit)(HandleObject &, void *),
                        void *argument) noexcept;

} // namespace dlc::runtime

#endif
