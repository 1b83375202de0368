// The list of handles, one for each process, and the messages of the threads.
#include "runtime/C/Handles.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <mutex>
#include <unistd.h>
#include <unordered_map>

namespace dlc::runtime {
namespace {

/// Longer than any message of a Status.
thread_local char lastMessage[1100] = "";

/// Its address tells threads apart.
thread_local char thisThread;

struct Registry {
  const pid_t process = getpid();
  /// Handles with smaller numbers were given before the fork that this process came from.
  const uintptr_t first;
  /// That of the process it came from. Nobody may free what is in it.
  Registry *const before;
  std::mutex mutex;
  std::unordered_map<uintptr_t, std::unique_ptr<HandleObject>> objects = {};

  Registry(uintptr_t first, Registry *before) : first(first), before(before) {}
};

std::atomic<Registry *> latest = nullptr;
std::atomic<uintptr_t> nextNumber = 1;

/// Handles look like addresses of a place that each copy of the library has for itself, so that
/// those of two copies differ.
constexpr uintptr_t stride = 16;
void *handleOf(uintptr_t number) {
  return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(&latest) + stride * number);
}
/// 0 for what is none.
uintptr_t numberOf(const void *handle) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(&latest);
  return from % stride == 0 && from / stride < nextNumber ? from / stride : 0;
}

/// Null if this process has given no handle.
Registry *registryHere() {
  Registry *registry = latest.load(std::memory_order_acquire);
  return registry && registry->process == getpid() ? registry : nullptr;
}

Registry &registryToAddTo() {
  while (true) {
    if (Registry *registry = registryHere())
      return *registry;
    Registry *before = latest.load(std::memory_order_acquire);
    auto made = std::make_unique<Registry>(nextNumber.load(), before);
    if (latest.compare_exchange_strong(before, made.get()))
      return *made.release();
  }
}

class Lock {
public:
  explicit Lock(std::mutex &mutex) : mutex(mutex) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &blocked);
    mutex.lock();
  }
  ~Lock() {
    mutex.unlock();
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  }
  Lock(const Lock &) = delete;

private:
  std::mutex &mutex;
  sigset_t blocked;
};

/// The registry that may have it, or null with the reason in `why`.
Registry *registryOf(const void *handle, const char *&why) {
  const uintptr_t number = numberOf(handle);
  if (!handle || number == 0) {
    why = handle ? "the handle is none that this library gave" : "the handle is NULL";
    return nullptr;
  }
  Registry *registry = registryHere();
  if (registry && number >= registry->first)
    return registry;
  why = "the handle was made in another process, before a fork";
  return nullptr;
}

/// Of a locked registry. Null, with the reason in `why`, if there is none of that kind.
HandleObject *find(const Registry &registry, const void *handle, HandleKind kind,
                   const char *&why) {
  auto at = registry.objects.find(numberOf(handle));
  if (at == registry.objects.end()) {
    why = "the handle was freed";
    return nullptr;
  }
  if (at->second->kind == kind)
    return at->second.get();
  why = kind == HandleKind::Run ? "the handle is of ranks, not of a run"
                                : "the handle is of a run, not of ranks";
  return nullptr;
}

} // namespace

std::string withFieldsOfC(std::string_view text) {
  auto isPartOfField = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
  };
  std::string renamed;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('`', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const bool isField = at > 0 && end < text.size() && std::ranges::all_of(piece, isPartOfField);
    for (char c : piece)
      if (isField && c >= 'A' && c <= 'Z')
        renamed += {'_', static_cast<char>(c - 'A' + 'a')};
      else
        renamed += isField && c == '.' ? '_' : c;
    if (end < text.size())
      renamed += '`';
    at = end + 1;
  }
  return renamed;
}

dlc_status refuse(dlc_status status, std::string_view message) noexcept {
  const size_t length = std::min(message.size(), sizeof(lastMessage) - 1);
  std::memcpy(lastMessage, message.data(), length);
  lastMessage[length] = '\0';
  return status;
}

dlc_status report(const Status &status) noexcept {
  static_assert(DLC_OK == int(StatusCode::Ok) && DLC_FAILED == int(StatusCode::Failed));
  if (status.ok())
    return DLC_OK;
  const auto code = static_cast<dlc_status>(status.code());
  try {
    return refuse(code, withFieldsOfC(status.message()));
  } catch (const std::bad_alloc &) {
    return refuse(code, status.message());
  }
}

bool Occupancy::enter(Calls needed, Calls &outer, const char *&why) {
  const void *none = nullptr;
  if (owner.compare_exchange_strong(none, &thisThread, std::memory_order_acquire)) {
    outer = Calls::Everything;
  } else if (none != &thisThread) {
    why = "another thread is at work in it";
    return false;
  } else if (allowed < needed) {
    why = "a callback may not call this";
    return false;
  } else {
    outer = allowed;
  }
  allowed = Calls::Nothing;
  return true;
}

void Occupancy::leave(Calls outer) {
  allowed = outer;
  if (outer == Calls::Everything)
    owner.store(nullptr, std::memory_order_release);
}

void *addHandle(std::unique_ptr<HandleObject> object) {
  Registry &registry = registryToAddTo();
  Lock lock(registry.mutex);
  const uintptr_t number = nextNumber++;
  registry.objects.emplace(number, std::move(object));
  return handleOf(number);
}

dlc_status HandleWork::begin(const void *of, HandleKind kind, Calls needed,
                             const HandleWork *other) noexcept {
  const char *why = nullptr;
  Registry *registry = registryOf(of, why);
  if (!registry)
    return refuse(DLC_NOT_ALIVE, why);
  Lock lock(registry->mutex);
  HandleObject *object = find(*registry, of, kind, why);
  if (!object)
    return refuse(DLC_NOT_ALIVE, why);
  if (!other || other->occupancy != object->occupancy) {
    if (!object->occupancy->enter(needed, outer, why))
      return refuse(DLC_IN_USE, why);
    occupancy = object->occupancy;
  }
  handle = of;
  found = object;
  return DLC_OK;
}

void HandleWork::end() noexcept {
  std::unique_ptr<HandleObject> ended;
  Registry *registry = registryHere();
  {
    Lock lock(registry->mutex);
    ended = std::move(registry->objects.extract(numberOf(handle)).mapped());
  }
}

const char *visitHandle(const void *handle, HandleKind kind, void (*visit)(HandleObject &, void *),
                        void *argument) noexcept {
  const char *why = nullptr;
  Registry *registry = registryOf(handle, why);
  if (!registry)
    return why;
  Lock lock(registry->mutex);
  HandleObject *object = find(*registry, handle, kind, why);
  if (object)
    visit(*object, argument);
  return why;
}

dlc_status freeHandle(const void *handle, HandleKind kind) noexcept {
  HandleWork work;
  if (dlc_status refused = work.begin(handle, kind, Calls::Everything))
    return refused;
  work.end();
  return DLC_OK;
}

} // namespace dlc::runtime

using namespace dlc::runtime;

const char *dlc_message(void) { return lastMessage; }
const char *dlc_version(void) { return DLC_VERSION; }
