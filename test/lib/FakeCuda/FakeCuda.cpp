// The fake's device, then its calls, in the order of cuda_runtime_api.h's topics.
#include "test/lib/FakeCuda/FakeCuda.h"
#include "runtime/Device/SIMT/Schedule.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <memory>
#include <sched.h>
#include <set>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace dlc::test;
using dlc::runtime::OrderedCommand;

FakeCuda &dlc::test::fakeCuda() {
  static FakeCuda fake;
  return fake;
}

namespace {

/// What a stream was given to do; false: it is not done yet, and to be tried again.
using Work = std::function<bool()>;
/// Whether a command is done.
using Mark = std::shared_ptr<bool>;

/// Host memory that a copy reads or writes.
struct Pages {
  const char *start = nullptr;
  size_t bytes = 0;
};

/// Of a lane: the commands of a stream, or of a captured stream in one launch of its graph.
struct Command {
  size_t lane;
  Work work;
  /// Null: waits for none but those of its lane.
  Mark awaited;
  Mark done;
  Pages host;
};
/// What was issued and is not done, in the order in which it was issued.
std::vector<Command> pending;
size_t lanes = 0;

struct Stream {
  size_t lane = lanes++;
  /// Of its last command; null: it has none.
  Mark last;
};
Stream &of(cudaStream_t stream) { return *reinterpret_cast<Stream *>(stream); }

/// A command of a graph, in the order of the capture; it waits for an earlier one, or for none.
struct Node {
  cudaStream_t stream;
  Work work;
  Pages host;
  size_t awaited = OrderedCommand::none;
};
using Graph = std::vector<Node>;

struct Capture {
  uint64_t number;
  cudaStream_t origin = nullptr;
  Graph nodes;
  /// Forked from the origin, itself included.
  std::set<cudaStream_t> streams;
};
std::unique_ptr<Capture> capture;

struct Event {
  Mark mark;
  /// The number of the capture in which it was recorded last, or 0; and where.
  uint64_t capture = 0;
  size_t node = 0;
};
Event &of(cudaEvent_t event) { return *reinterpret_cast<Event *>(event); }

struct Kernel {
  std::string name;
};

struct Allocation {
  uint64_t bytes;
  int device;
};
/// The devices' memory, by its start.
std::map<const char *, Allocation> allocated;
/// Host memory that copies may read after their call; by its start.
std::map<const char *, uint64_t> pinned;
/// The stream of a copy from other host memory that nothing has waited for yet, or null: such
/// memory may be read too late, so nothing but waiting is allowed.
cudaStream_t pageableCopy = nullptr;
cudaError_t lastError = cudaSuccess;

bool isPinned(const void *start) {
  auto after = pinned.upper_bound(static_cast<const char *>(start));
  return after != pinned.begin() &&
         static_cast<const char *>(start) < std::prev(after)->first + std::prev(after)->second;
}

/// What an address of a device's memory lies in, or null.
const Allocation *allocationAt(const void *address) {
  const auto *at = static_cast<const char *>(address);
  auto after = allocated.upper_bound(at);
  return after != allocated.begin() && at < std::prev(after)->first + std::prev(after)->second.bytes
             ? &std::prev(after)->second
             : nullptr;
}

/// An order in which the device may do what is pending.
std::vector<size_t> drawOrder() {
  std::vector<OrderedCommand> table;
  std::map<size_t, uint32_t> numbers;
  std::map<const bool *, size_t> places;
  for (const Command &command : pending) {
    const auto number = numbers.try_emplace(command.lane, uint32_t(numbers.size())).first->second;
    const auto awaited = places.find(command.awaited.get());
    places[command.done.get()] = table.size();
    table.push_back({number, awaited == places.end() ? OrderedCommand::none : awaited->second});
  }
  return dlc::runtime::adversarialOrder(table, fakeCuda().random);
}

/// Does what is pending, at most `most` commands, and until `last` is done; false if it could do
/// nothing.
bool advance(size_t most, const bool *last = nullptr) {
  std::set<size_t> blocked;
  size_t count = 0;
  for (size_t i : drawOrder()) {
    if (count == most || (last && *last))
      break;
    Command &command = pending[i];
    const bool may = !blocked.contains(command.lane) && (!command.awaited || *command.awaited);
    if (may && command.work())
      count += *command.done = true;
    else
      blocked.insert(command.lane);
  }
  std::erase_if(pending, [](const Command &command) { return *command.done; });
  return count != 0;
}

/// As long as it takes. What takes for ever is given up.
cudaError_t waitFor(const Mark &mark) {
  while (mark && !*mark) {
    if (advance(SIZE_MAX, mark.get()))
      continue;
    if (fakeCuda().stuck) {
      ++fakeCuda().hung;
      for (const Command &command : pending)
        *command.done = true;
      pending.clear();
      return cudaErrorLaunchTimeout;
    }
    sched_yield(); // Another process has something to do.
  }
  return cudaSuccess;
}

void waitForAll() {
  while (!pending.empty())
    waitFor(pending.back().done);
}

/// The device does something meanwhile.
cudaError_t query(const Mark &mark) {
  advance(fakeCuda().random() % 4);
  if (!mark || *mark)
    return cudaSuccess;
  return lastError = cudaErrorNotReady;
}

void add(Command command) {
  command.done = std::make_shared<bool>(false);
  pending.push_back(std::move(command));
}

void add(cudaStream_t stream, Command command) {
  command.lane = of(stream).lane;
  add(std::move(command));
  of(stream).last = pending.back().done;
}

bool nothing() { return true; }

/// Keeps work for the device, or for the graph.
cudaError_t issue(cudaStream_t stream, Work work, Pages host = {}) {
  if (pageableCopy)
    return cudaErrorNotReady;
  if (capture) {
    if (!capture->streams.contains(stream))
      return cudaErrorStreamCaptureUnsupported;
    capture->nodes.push_back({stream, std::move(work), host});
    return cudaSuccess;
  }
  add(stream, {0, std::move(work), nullptr, nullptr, host});
  if (fakeCuda().fast && fakeCuda().random() % fakeCuda().fast == 0)
    advance(fakeCuda().random() % 8);
  return cudaSuccess;
}

Work doing(std::function<void()> command) {
  return [command = std::move(command)] {
    command();
    return true;
  };
}

/// Whether the origin's last command comes after all others.
bool isJoined(const Capture &capture) {
  std::vector<bool> before(capture.nodes.size(), false);
  std::map<cudaStream_t, bool> joined = {{capture.origin, true}};
  for (size_t i = capture.nodes.size(); i-- > 0;) {
    const Node &node = capture.nodes[i];
    if (!(joined[node.stream] |= before[i]))
      return false;
    if (node.awaited != OrderedCommand::none)
      before[node.awaited] = true;
  }
  return true;
}

} // namespace

bool dlc::test::isCapturingFake() { return capture != nullptr; }

bool dlc::test::issueFake(cudaStream_t stream, std::function<bool()> command) {
  return issue(stream, std::move(command)) == cudaSuccess;
}

extern "C" {

cudaError_t cudaDriverGetVersion(int *version) {
  *version = fakeCuda().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
  *count = fakeCuda().devices;
  return *count ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  fakeCuda().current = device;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(lastError, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return lastError; }
const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "the fake fails";
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Fake");
  properties->major = fakeCuda().major;
  properties->minor = fakeCuda().minor;
  properties->multiProcessorCount = 100;
  properties->sharedMemPerBlockOptin = 200 << 10;
  // Each process has a device of its own.
  const pid_t process = getpid();
  std::memcpy(properties->uuid.bytes, &process, sizeof(process));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr name, int) {
  *value = name == cudaDevAttrGlobalMemoryBusWidth ? 1024 : 1000000; // bits; 1 GHz
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **start, size_t bytes) {
  if (fakeCuda().used + bytes > fakeCuda().memory)
    return cudaErrorMemoryAllocation;
  fakeCuda().used += bytes;
  *start = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*start, 0xa5, bytes);
  allocated[static_cast<char *>(*start)] = {bytes, fakeCuda().current};
  return cudaSuccess;
}
cudaError_t cudaFree(void *start) {
  waitForAll();
  const auto found = allocated.find(static_cast<char *>(start));
  fakeCuda().used -= found->second.bytes;
  allocated.erase(found);
  std::free(start);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *address) {
  *attributes = {};
  attributes->type = isPinned(address) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
  if (const Allocation *found = allocationAt(address)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = found->device;
  }
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **start, size_t bytes, unsigned) {
  if (fakeCuda().pinsNoMore)
    return lastError = cudaErrorMemoryAllocation;
  fakeCuda().pinned += bytes;
  *start = std::malloc(bytes);
  std::memset(*start, 0x5a, bytes);
  pinned[static_cast<char *>(*start)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void *start) {
  const char *const first = static_cast<char *>(start), *const end = first + pinned[first];
  const bool used = std::ranges::any_of(pending, [&](const Command &command) {
    return command.host.start < end && first < command.host.start + command.host.bytes;
  });
  fakeCuda().freedInUse += used;
  if (used)
    waitForAll();
  fakeCuda().pinned -= pinned[first];
  pinned.erase(first);
  std::free(start);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = fakeCuda().memory;
  *free = *total - fakeCuda().used;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Pages host;
  if (kind != cudaMemcpyDeviceToDevice)
    host = {static_cast<const char *>(kind == cudaMemcpyHostToDevice ? from : to), bytes};
  const cudaError_t error = issue(stream, doing([=] { std::memcpy(to, from, bytes); }), host);
  if (kind == cudaMemcpyHostToDevice && !isPinned(from))
    pageableCopy = stream;
  // CUDA may follow a host's pointer here; the runtime has to know its places.
  if (kind == cudaMemcpyDeviceToDevice && bytes != 0 && (!allocationAt(from) || !allocationAt(to)))
    return cudaErrorInvalidValue;
  return error;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  return issue(stream, doing([=] { std::memset(to, value, bytes); }));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int priority) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  fakeCuda().priorities.push_back(priority);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  waitFor(of(stream).last);
  delete &of(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (capture)
    return cudaErrorStreamCaptureUnsupported;
  if (stream == pageableCopy)
    pageableCopy = nullptr;
  return waitFor(of(stream).last);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (capture && capture->streams.contains(stream))
    return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = query(of(stream).last);
  if (stream == pageableCopy && error == cudaSuccess)
    pageableCopy = nullptr;
  return error;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of(event);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return waitFor(of(event).mark); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return query(of(event).mark); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = 2;
  return *of(begin).mark && *of(end).mark ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (cudaError_t error = issue(stream, nothing); error != cudaSuccess)
    return error;
  of(event).capture = capture ? capture->number : 0;
  if (capture)
    of(event).node = capture->nodes.size() - 1;
  else
    of(event).mark = of(stream).last;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (capture && of(event).capture == capture->number) {
    capture->streams.insert(stream);
    capture->nodes.push_back({stream, nothing, {}, of(event).node});
    return cudaSuccess;
  }
  if (of(event).capture != 0)
    return cudaErrorCapturedEvent;
  if (capture && capture->streams.contains(stream))
    return cudaErrorStreamCaptureIsolation;
  add(stream, {0, nothing, of(event).mark, nullptr, {}});
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *, cudaJitOption *, void **,
                                unsigned, cudaLibraryOption *, void **, unsigned) {
  *library = reinterpret_cast<cudaLibrary_t>(new Kernel);
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  reinterpret_cast<Kernel *>(library)->name = name;
  *kernel = reinterpret_cast<cudaKernel_t>(library);
  return fakeCuda().kernels.contains(name) ? cudaSuccess : cudaErrorSymbolNotFound;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  delete reinterpret_cast<Kernel *>(library);
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3, void **parameters, size_t,
                             cudaStream_t stream) {
  if (fakeCuda().launchesLeft-- == 0)
    return cudaErrorLaunchFailure;
  const FakeKernel &kernel =
      fakeCuda().kernels.at(reinterpret_cast<const Kernel *>(function)->name);
  // As CUDA does, it copies the parameters at the launch.
  std::vector<uint64_t> values;
  for (uint32_t i = 0; i < kernel.parameters; ++i)
    values.push_back(*static_cast<uint64_t *>(parameters[i]));
  return issue(stream, doing([values, &kernel, grid] {
                 std::vector<uint64_t> own = values;
                 std::vector<void *> addresses;
                 for (uint64_t &value : own)
                   addresses.push_back(&value);
                 ++fakeCuda().launches;
                 kernel.run(addresses.data(), grid.x);
               }));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  static uint64_t captures = 0;
  capture.reset(new Capture{++captures, stream, {}, {stream}});
  ++fakeCuda().captures;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  const bool captured = capture && capture->streams.contains(stream);
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
  const std::unique_ptr<Capture> ended = std::move(capture);
  const bool joined = isJoined(*ended);
  *graph = joined ? reinterpret_cast<cudaGraph_t>(new Graph(ended->nodes)) : nullptr;
  return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long) {
  *made = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph *>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph *>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Graph *>(graph);
  return cudaSuccess;
}
/// Its streams begin behind what the stream has, and the stream goes on behind all of them.
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (pageableCopy)
    return cudaErrorNotReady;
  ++fakeCuda().graphLaunches;
  add(stream, {0, nothing, nullptr, nullptr, {}});
  const Mark begin = of(stream).last;
  std::map<cudaStream_t, size_t> own;
  std::map<size_t, Mark> ends;
  std::vector<Mark> done;
  for (const Node &node : *reinterpret_cast<Graph *>(graph)) {
    const auto [lane, isNew] = own.try_emplace(node.stream, lanes);
    if (isNew)
      add({lanes++, nothing, begin, nullptr, {}});
    const Mark awaited = node.awaited == OrderedCommand::none ? nullptr : done[node.awaited];
    add({lane->second, node.work, awaited, nullptr, node.host});
    done.push_back(ends[lane->second] = pending.back().done);
  }
  for (const auto &[lane, end] : ends)
    add(stream, {0, nothing, end, nullptr, {}});
  return cudaSuccess;
}

} // extern "C"
