// The list of handles, one for each process, and the messages of the threads.
#include "runtime/C/Handles.h"
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

namespace dlc::runtime {
namespace {

/// Longer than any message of a Status.
thread_local char lastMessage[1100] = "";

/// Its address tells threads apart.
thread_local char thisThread;

struct Registry {
  const pid_t process = thisProcess();
  /// Handles with smaller numbers were given before the fork that this process came from.
  const uintptr_t first;
  /// That of the process it came from. Nobody may free what is in it.
  Registry *const before;
  /// The list: the object that was added last.
  std::atomic<HandleObject *> objects = nullptr;
  /// How many look through the list, or visit what they have found there.
  std::atomic<unsigned> visitors = 0;
  /// Locked by who changes the list.
  std::mutex changes = {};

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
  return registry && registry->process == thisProcess() ? registry : nullptr;
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

/// While it lives, what is taken off the list is not destroyed.
class Visit {
public:
  explicit Visit(Registry &registry) : registry(registry) { ++registry.visitors; }
  ~Visit() { --registry.visitors; }
  Visit(const Visit &) = delete;

private:
  Registry &registry;
};

/// Takes an object off the list, and returns when nobody can have found it there any more.
void remove(Registry &registry, HandleObject &object) {
  const std::lock_guard lock(registry.changes);
  std::atomic<HandleObject *> *at = &registry.objects;
  while (*at != &object)
    at = &at->load()->next;
  *at = object.next.load();
  while (registry.visitors != 0)
    std::this_thread::yield();
}

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

/// In a visit. Null, with the reason in `why`, if there is none of that kind.
HandleObject *find(const Registry &registry, const void *handle, HandleKind kind,
                   const char *&why) {
  const uintptr_t number = numberOf(handle);
  HandleObject *object = registry.objects;
  while (object && object->number != number)
    object = object->next;
  if (!object) {
    why = "the handle was freed";
    return nullptr;
  }
  if (object->kind == kind)
    return object;
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
  const std::lock_guard lock(registry.changes);
  object->number = nextNumber++;
  object->next = registry.objects.load();
  void *handle = handleOf(object->number);
  registry.objects = object.release();
  return handle;
}

dlc_status HandleWork::begin(const void *of, HandleKind kind, Calls needed,
                             const HandleWork *other) noexcept {
  const char *why = nullptr;
  Registry *registry = registryOf(of, why);
  if (!registry)
    return refuse(DLC_NOT_ALIVE, why);
  const Visit visit(*registry);
  HandleObject *object = find(*registry, of, kind, why);
  if (!object)
    return refuse(DLC_NOT_ALIVE, why);
  if (!other || other->occupancy != object->occupancy) {
    if (!object->occupancy->enter(needed, outer, why))
      return refuse(DLC_IN_USE, why);
    occupancy = object->occupancy;
  }
  found = object;
  return DLC_OK;
}

void HandleWork::end() noexcept {
  remove(*registryHere(), *found);
  delete found;
}

const char *visitHandle(const void *handle, HandleKind kind, void (*visit)(HandleObject &, void *),
                        void *argument) noexcept {
  const char *why = nullptr;
  Registry *registry = registryOf(handle, why);
  if (!registry)
    return why;
  const Visit visiting(*registry);
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
