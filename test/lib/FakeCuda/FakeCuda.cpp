// The fake's calls, in the order of cuda_runtime_api.h's topics.
#include "test/lib/FakeCuda/FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <set>
#include <utility>
#include <vector>

using namespace dlc::test;

FakeCuda &dlc::test::fakeCuda() {
  static FakeCuda fake;
  return fake;
}

namespace {

using Command = std::function<void()>;
using Graph = std::vector<Command>;

/// Streams and events are numbered boxes.
struct Stream {};
struct Event {
  /// In a capture: the streams whose commands so far it stands for.
  std::set<cudaStream_t> covers;
};
struct Kernel {
  std::string name;
};

struct Capture {
  cudaStream_t origin = nullptr;
  Graph commands;
  /// Streams forked from the origin, and those with commands that nothing has joined.
  std::set<cudaStream_t> streams, unjoined;
};
std::map<void *, uint64_t> sizes;
/// Host memory that copies may read after their call; by its start.
std::map<const char *, uint64_t> pinned;
/// The stream of a copy from other host memory that nothing has waited for yet, or null: such
/// memory may be read too late, so nothing but waiting is allowed.
cudaStream_t pageableCopy = nullptr;
Capture *capture = nullptr;

bool isPinned(const void *start) {
  auto after = pinned.upper_bound(static_cast<const char *>(start));
  return after != pinned.begin() &&
         static_cast<const char *>(start) < std::prev(after)->first + std::prev(after)->second;
}

/// Runs a command, or keeps it for the graph.
cudaError_t issue(cudaStream_t stream, Command command) {
  if (pageableCopy)
    return cudaErrorNotReady;
  if (!capture) {
    command();
    return cudaSuccess;
  }
  if (!capture->streams.contains(stream))
    return cudaErrorStreamCaptureUnsupported;
  if (stream != capture->origin)
    capture->unjoined.insert(stream);
  capture->commands.push_back(std::move(command));
  return cudaSuccess;
}

} // namespace

bool dlc::test::isCapturingFake() { return capture != nullptr; }

bool dlc::test::issueFake(cudaStream_t stream, std::function<void()> command) {
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
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
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
  sizes[*start] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void *start) {
  fakeCuda().used -= sizes[start];
  std::free(start);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **start, size_t bytes, unsigned) {
  *start = std::malloc(bytes);
  pinned[static_cast<char *>(*start)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void *start) {
  pinned.erase(static_cast<char *>(start));
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
  const cudaError_t error = issue(stream, [=] { std::memcpy(to, from, bytes); });
  if (kind == cudaMemcpyHostToDevice && !isPinned(from))
    pageableCopy = stream;
  return error;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  return issue(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete reinterpret_cast<Stream *>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream == pageableCopy)
    pageableCopy = nullptr;
  return capture ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event *>(event);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) {
  return fakeCuda().stuck ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 2;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (pageableCopy)
    return cudaErrorNotReady;
  auto &recorded = *reinterpret_cast<Event *>(event);
  recorded.covers.clear();
  if (capture) {
    if (!capture->streams.contains(stream))
      return cudaErrorStreamCaptureUnsupported;
    recorded.covers = {stream};
  }
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto &awaited = *reinterpret_cast<Event *>(event);
  if (capture && !awaited.covers.empty())
    capture->streams.insert(stream);
  if (capture && stream == capture->origin)
    for (cudaStream_t joined : awaited.covers)
      capture->unjoined.erase(joined);
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
  return issue(stream, [values, &kernel, grid]() mutable {
    std::vector<void *> addresses;
    for (uint64_t &value : values)
      addresses.push_back(&value);
    ++fakeCuda().launches;
    kernel.run(addresses.data(), grid.x);
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  capture = new Capture;
  capture->origin = stream;
  capture->streams = {stream};
  ++fakeCuda().captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
  const bool joined = capture->unjoined.empty();
  *graph = joined ? reinterpret_cast<cudaGraph_t>(new Graph(capture->commands)) : nullptr;
  delete std::exchange(capture, nullptr);
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
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  ++fakeCuda().graphLaunches;
  for (const Command &command : *reinterpret_cast<Graph *>(graph))
    command();
  return cudaSuccess;
}

} // extern "C"
