// Opening the device, its memory, and queues that issue or replay.
#include "runtime/Device/CUDA/CudaDevice.h"
#include "runtime/Collectives/RecordSum.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <set>

namespace dlc::runtime {
namespace {

class CudaMemory : public DeviceMemory {
public:
  CudaMemory(std::shared_ptr<CudaDevice> device, cudaStream_t stream, void *start, uint64_t bytes)
      : device(std::move(device)), stream(stream), start(static_cast<std::byte *>(start)),
        bytes(bytes) {}
  ~CudaMemory() override {
    // cudaFree() waits for the device as well, but also where a rank is lost.
    std::lock_guard lock(device->running());
    (void)device->activate();
    (void)device->await(device->stream(), "freeing memory");
    cudaFree(start);
    if (pinned)
      cudaFreeHost(pinned);
  }
  std::byte *address() override { return start; }
  uint64_t size() const override { return bytes; }

  Status write(uint64_t offset, std::span<const std::byte> source) override {
    std::lock_guard lock(device->running());
    DLC_TRY(device->activate());
    return stream == device->stream() ? device->upload(start + offset, source)
                                      : stage(offset, source);
  }
  Status read(uint64_t offset, std::span<std::byte> destination) const override {
    std::lock_guard lock(device->running());
    DLC_TRY(device->activate());
    DLC_TRY(checkCuda(cudaMemcpyAsync(destination.data(), start + offset, destination.size(),
                                      cudaMemcpyDeviceToHost, device->stream()),
                      "reading memory"));
    return device->await(device->stream(), "reading memory");
  }
  Status copyFrom(uint64_t offset, std::span<const std::byte> source) override {
    std::lock_guard lock(device->running());
    DLC_TRY(device->activate());
    DLC_TRY(copyWithin(start + offset, source.data(), source.size(), stream));
    return stream == device->stream() ? Status() : runsWait();
  }
  Status copyTo(uint64_t offset, std::span<std::byte> destination) const override {
    std::lock_guard lock(device->running());
    DLC_TRY(device->activate());
    return copyWithin(destination.data(), start + offset, destination.size(), device->stream());
  }

private:
  static Status copyWithin(std::byte *to, const std::byte *from, uint64_t bytes,
                           cudaStream_t stream) {
    return checkCuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
                     "copying memory");
  }

  /// Lets the next run wait for what this memory's own stream has been given.
  Status runsWait() {
    if (!written.get())
      DLC_TRY(checkCuda(cudaEventCreateWithFlags(written.out(), cudaEventDisableTiming),
                        "making an event"));
    DLC_TRY(checkCuda(cudaEventRecord(written.get(), stream), "writing memory"));
    return checkCuda(cudaStreamWaitEvent(device->stream(), written.get(), 0), "writing memory");
  }

  /// Copies from the device's pinned memory, or through some of its own: then the caller's bytes
  /// are taken. Runs go on meanwhile, and the next run waits.
  Status stage(uint64_t offset, std::span<const std::byte> source) {
    const std::byte *from = source.data();
    if (!device->takesFrom(source)) {
      if (!pinned)
        DLC_TRY(
            checkCuda(cudaHostAlloc(&pinned, std::max<uint64_t>(bytes, 1), 0), "pinning memory"));
      // The write before may still be copied, and take of these bytes: they are copied behind it,
      // and no run is between the two.
      std::byte *const own = static_cast<std::byte *>(pinned) + offset;
      std::memcpy(own, source.data(), source.size());
      from = own;
    }
    DLC_TRY(checkCuda(
        cudaMemcpyAsync(start + offset, from, source.size(), cudaMemcpyHostToDevice, stream),
        "writing memory"));
    return runsWait();
  }

  std::shared_ptr<CudaDevice> device;
  /// Where it is written.
  cudaStream_t stream;
  std::byte *start;
  uint64_t bytes;
  /// Of staging memory.
  void *pinned = nullptr;
  CudaEvent written;
};

/// A sum of a plan over several ranks: by NCCL, or through the host's memory.
struct StagedSum {
  explicit StagedSum(dlc_collective kind) : kind(kind), sum(kind) {}
  ~StagedSum() {
    if (pinned)
      cudaFreeHost(pinned);
  }

  dlc_collective kind;
  bool onDevice = false;
  RecordSum sum;
  /// The buffer's copy, and when it is there; made in the first run that needs it.
  void *pinned = nullptr;
  CudaEvent copied;
  /// Of the run at hand; its buffer is the same in all runs.
  DeviceCollective collective = {};
  uint32_t stream = 0;
  std::optional<Transport::Ticket> ticket = {};
};

/// A run recorded for inputs that stand at these addresses, and for a slot.
struct RecordedRun {
  std::vector<const std::byte *> inputs;
  unsigned slot;
  CudaGraphExec graph;
};

class CudaQueue : public CommandQueue {
public:
  CudaQueue(std::shared_ptr<CudaDevice> device, std::shared_ptr<const Module> module,
            std::shared_ptr<CudaModule> code)
      : device(std::move(device)), module(std::move(module)), code(std::move(code)) {}
  ~CudaQueue() override {
    std::lock_guard lock(device->running());
    (void)device->activate();
    (void)device->await(device->stream(), "ending");
    for (const auto &[record, sum] : sums)
      if (sum->onDevice && sum->collective.buffer)
        nccl->forget(sum->collective.buffer);
    if (ring)
      cudaFreeHost(ring);
  }

  Status prepare(const EntryInfo &entry) {
    const Plan &plan = module->plan();
    for (uint32_t i = entry.records.first; i < entry.records.first + entry.records.count; ++i)
      if (plan.records[i].kind == DLC_RECORD_COLLECTIVE && device->ranks().ranks() > 1)
        sums[i] = std::make_unique<StagedSum>(static_cast<dlc_collective>(plan.records[i].index));
    for (const ValueInfo &output : entry.outputs)
      if (output.isFetched())
        ringBytes += output.type.logicalBytes();
    void *pinned = nullptr;
    DLC_TRY(checkCuda(cudaHostAlloc(&pinned, 2 * ringBytes + 1, 0), "pinning host memory"));
    ring = static_cast<std::byte *>(pinned);
    for (CudaEvent &event : finished)
      DLC_TRY(checkCuda(cudaEventCreateWithFlags(event.out(), cudaEventDisableTiming),
                        "making an event"));
    streams.resize(std::max<size_t>(entry.streams, 1));
    // One event more for each stream: its start, and its end.
    for (uint32_t i = 0; i < entry.events + entry.streams + 1; ++i)
      DLC_TRY(
          checkCuda(cudaEventCreateWithFlags(events.emplace_back().out(), cudaEventDisableTiming),
                    "making an event"));
    planEvents = entry.events;
    for (CudaEvent *event : {&before, &after})
      DLC_TRY(checkCuda(cudaEventCreate(event->out()), "making an event"));
    return {};
  }

  Result<bool> begin(const RunStart &start) override {
    device->running().lock();
    Status status = guarded([&] { return beginLocked(start); });
    if (!status.ok()) {
      device->running().unlock();
      return status;
    }
    return replaying == nullptr;
  }

  Status launch(uint32_t stream, const Launch &launch) override {
    DLC_TRY(finishSums(stream));
    const KernelInfo &kernel = module->plan().kernels[launch.index];
    // Each parameter by its address: buffer pointers, then 64-bit immediates.
    parameters.clear();
    for (uint32_t i = 0; i < launch.args.buffer_count; ++i)
      parameters.push_back(const_cast<void **>(launch.args.buffers + i));
    for (uint32_t i = 0; i < kernel.immediates; ++i)
      parameters.push_back(const_cast<uint64_t *>(launch.args.constants + i));
    return command(launch, stream, [&] {
      return checkCuda(
          cudaLaunchKernel(reinterpret_cast<const void *>(code->kernel(launch.index).function),
                           dim3(launch.tasks), dim3(kernel.threads), parameters.data(),
                           kernel.sharedBytes, streams[stream]),
          "launching");
    });
  }
  Status library(uint32_t stream, const Launch &call) override {
    DLC_TRY(finishSums(stream));
    return command(call, stream,
                   [&] { return code->run(call.index, streams[stream], call.args.buffers); });
  }
  Status copy(uint32_t stream, std::byte *to, const std::byte *from, uint64_t bytes) override {
    DLC_TRY(finishSums(stream));
    return note(checkCuda(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, streams[stream]), "copying"));
  }
  Status fill(uint32_t stream, std::byte *to, uint8_t value, uint64_t bytes) override {
    DLC_TRY(finishSums(stream));
    return note(checkCuda(cudaMemsetAsync(to, value, bytes, streams[stream]), "filling"));
  }
  /// By NCCL, behind what the stream has. Or the buffer's copy to the host; a sum then starts when
  /// somebody waits for one, and is back on the device before anything else of its stream.
  Status sum(uint32_t stream, const DeviceCollective &collective) override {
    auto found = sums.find(collective.record);
    if (found == sums.end())
      return {}; // Of one rank.
    StagedSum &sum = *found->second;
    if (sum.onDevice && !sum.collective.buffer)
      nccl->enroll(collective.buffer, collective.bytes);
    sum.collective = collective;
    if (sum.onDevice)
      return note(
          nccl->sum(collective.dtype, collective.buffer, collective.bytes, streams[stream]));
    sum.stream = stream;
    DLC_TRY(note(checkCuda(cudaMemcpyAsync(sum.pinned, collective.buffer, collective.bytes,
                                           cudaMemcpyDeviceToHost, streams[stream]),
                           "copying what is summed")));
    DLC_TRY(note(
        checkCuda(cudaEventRecord(sum.copied.get(), streams[stream]), "copying what is summed")));
    pending.push_back(&sum);
    return {};
  }
  /// Behind sums of its stream, an event is recorded when these are back.
  Status recordEvent(uint32_t stream, uint32_t event) override {
    auto isBefore = [&](const StagedSum *sum) { return sum->stream == stream; };
    if (auto last = std::ranges::find_if(pending | std::views::reverse, isBefore);
        last != pending.rend()) {
      recordedBehind[event] = *last;
      return {};
    }
    return note(
        checkCuda(cudaEventRecord(events[event].get(), streams[stream]), "recording an event"));
  }
  Status waitEvent(uint32_t stream, uint32_t event) override {
    if (auto found = recordedBehind.find(event); found != recordedBehind.end()) {
      StagedSum *const sum = found->second;
      recordedBehind.erase(found);
      DLC_TRY(finishSums(sum->stream, sum));
      DLC_TRY(note(checkCuda(cudaEventRecord(events[event].get(), streams[sum->stream]),
                             "recording an event")));
    }
    return note(checkCuda(cudaStreamWaitEvent(streams[stream], events[event].get(), 0),
                          "waiting for an event"));
  }
  Result<std::optional<double>> synchronize() override {
    DLC_TRY(finishAllSums());
    for (cudaStream_t stream : streams)
      DLC_TRY(device->await(stream, "running"));
    if (!std::exchange(timed, false))
      return std::optional<double>();
    float milliseconds = 0;
    DLC_TRY(checkCuda(cudaEventElapsedTime(&milliseconds, before.get(), after.get()), "timing"));
    return std::optional<double>(milliseconds * 1e-3);
  }

  Status end() override {
    Status status = guarded([&] { return endLocked(); });
    ++runs;
    device->running().unlock();
    return status;
  }

  bool accepts(uint32_t call) const override { return code->accepts(call); }
  Result<std::span<const std::byte>> results(unsigned slot) override {
    DLC_TRY(device->activate());
    DLC_TRY(device->await(finished[slot].get(), "running"));
    return std::span<const std::byte>(ring + slot * ringBytes, ringBytes);
  }

private:
  /// In the first run, when all ranks are here: chooses a way for each sum, and makes streams.
  Status prepareStreams() {
    if (streams.front())
      return {};
    if (!sums.empty()) {
      DLC_TRY_ASSIGN(found, device->nccl());
      nccl = found;
    }
    const Plan &plan = module->plan();
    std::set<uint32_t> summing;
    for (auto &[record, sum] : sums) {
      sum->onDevice = nccl && sum->kind == DLC_COLLECTIVE_SUM;
      if (sum->onDevice) {
        summing.insert(plan.records[record].stream);
        continue;
      }
      throughHost = true;
      const uint64_t bytes = plan.arguments[plan.records[record].arguments.first].bytes;
      DLC_TRY(checkCuda(cudaHostAlloc(&sum->pinned, std::max<uint64_t>(bytes, 1), 0),
                        "pinning host memory"));
      DLC_TRY(checkCuda(cudaEventCreateWithFlags(sum->copied.out(), cudaEventDisableTiming),
                        "making an event"));
    }
    return makeStreams(summing);
  }

  /// A stream for each of the plan's, but one for all of those that are `summing`, in the order of
  /// the plan. Its kernels are few and other devices wait for them, so they go before others.
  Status makeStreams(const std::set<uint32_t> &summing) {
    int least = 0, greatest = 0;
    DLC_TRY(checkCuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a stream"));
    cudaStream_t ofSums = summing.contains(0) ? device->stream() : nullptr;
    for (uint32_t i = 1; i < streams.size(); ++i) {
      const bool sums = summing.contains(i);
      if (!sums || !ofSums)
        DLC_TRY(
            checkCuda(cudaStreamCreateWithPriority(owned.emplace_back().out(),
                                                   cudaStreamNonBlocking, sums ? greatest : least),
                      "making a stream"));
      if (sums && !ofSums)
        ofSums = owned.back().get();
      streams[i] = sums ? ofSums : owned.back().get();
    }
    streams.front() = device->stream();
    return {};
  }

  /// Starts what has been copied to the host or will be, in order: nothing of it waits for a sum
  /// that has not been asked for, as what has been issued does not.
  Status startSums() {
    for (StagedSum *sum : pending) {
      if (sum->ticket)
        continue;
      DLC_TRY(checkCuda(cudaEventSynchronize(sum->copied.get()), "copying what is summed"));
      const std::span buffer(static_cast<std::byte *>(sum->pinned), sum->collective.bytes);
      DLC_TRY_ASSIGN(ticket,
                     sum->sum.start(device->ranks(), sum->collective.channel, sum->collective.dtype,
                                    buffer, sum->collective.residual, nullptr));
      sum->ticket = ticket;
    }
    return {};
  }

  /// Waits for the sums of a stream up to `last`, or for all of them, and copies them back.
  Status finishSums(uint32_t stream, const StagedSum *last = nullptr) {
    auto isOfStream = [&](const StagedSum *sum) { return sum->stream == stream; };
    if (last && std::ranges::find(pending, last) == pending.end())
      return {};
    for (auto at = std::ranges::find_if(pending, isOfStream); at != pending.end();
         at = std::ranges::find_if(pending, isOfStream)) {
      DLC_TRY(note(startSums()));
      StagedSum *const sum = *at;
      DLC_TRY(note(device->ranks().wait(*sum->ticket)));
      sum->ticket.reset();
      pending.erase(at);
      sum->sum.finish();
      DLC_TRY(
          note(checkCuda(cudaMemcpyAsync(sum->collective.buffer, sum->pinned, sum->collective.bytes,
                                         cudaMemcpyHostToDevice, streams[stream]),
                         "copying a sum")));
      if (sum == last)
        break;
    }
    return {};
  }

  Status finishAllSums() {
    while (!pending.empty())
      DLC_TRY(finishSums(pending.front()->stream));
    return {};
  }

  /// After a failure: memory of sums under way is not ours before they have ended.
  void dropSums() {
    for (StagedSum *sum : pending)
      if (sum->ticket)
        (void)device->ranks().wait(*std::exchange(sum->ticket, std::nullopt));
    pending.clear();
    recordedBehind.clear();
  }

  /// Remembers that a command of this run failed.
  Status note(Status status) {
    broken |= !status.ok();
    return status;
  }

  /// Issues a launch or library call. A traced run waits for each, and the device times it.
  template <typename Issue>
  Status command(const Launch &launch, uint32_t stream, const Issue &issue) {
    Status status;
    if (traced)
      status = checkCuda(cudaEventRecord(before.get(), streams[stream]), "timing");
    if (status.ok())
      status = issue();
    if (status.ok() && traced) {
      status = checkCuda(cudaEventRecord(after.get(), streams[stream]), "timing");
      timed = true;
    }
    if (status.ok())
      return status;
    return note(std::move(status).in(concat("'", module->plan().recordNames[launch.record], "'")));
  }

  Status beginLocked(const RunStart &start) {
    DLC_TRY(device->activate());
    DLC_TRY(prepareStreams());
    if (nccl)
      DLC_TRY(nccl->check());
    replaying = nullptr;
    capturing = broken = timed = false;
    traced = start.traced;
    slot = start.slot;
    accumulators = start.accumulators;
    // Sums through the host cannot be recorded.
    if (!start.traced && device->usesGraphs() && !throughHost) {
      for (RecordedRun &run : recorded)
        if (run.slot == slot && std::equal(run.inputs.begin(), run.inputs.end(),
                                           start.inputs.begin(), start.inputs.end())) {
          replaying = &run;
          return {};
        }
      capturing = runs > 0;
    }
    if (capturing) {
      inputs.assign(start.inputs.begin(), start.inputs.end());
      DLC_TRY(checkCuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal),
                        "recording a step"));
    }
    return fork();
  }

  /// The other streams begin after what the first one has been given.
  Status fork() {
    if (owned.empty())
      return {};
    const cudaEvent_t start = events[planEvents].get();
    DLC_TRY(checkCuda(cudaEventRecord(start, streams[0]), "starting streams"));
    for (const CudaStream &stream : owned)
      DLC_TRY(checkCuda(cudaStreamWaitEvent(stream.get(), start, 0), "starting streams"));
    return {};
  }

  Status join() {
    for (size_t i = 0; i < owned.size(); ++i) {
      const cudaEvent_t done = events[planEvents + 1 + i].get();
      DLC_TRY(checkCuda(cudaEventRecord(done, owned[i].get()), "joining streams"));
      DLC_TRY(checkCuda(cudaStreamWaitEvent(streams[0], done, 0), "joining streams"));
    }
    return {};
  }

  Status endLocked() {
    if (!replaying) {
      Status joined = guarded([&] { return finishAllSums(); });
      dropSums();
      if (joined.ok())
        joined = join();
      if (joined.ok())
        joined = keepAccumulators();
      if (capturing)
        joined = endCapture(std::move(joined));
      DLC_TRY(std::move(joined));
    }
    if (replaying && !capturing)
      device->ranks().countStarts(sumsOnDevice());
    if (replaying)
      DLC_TRY(checkCuda(cudaGraphLaunch(replaying->graph.get(), streams[0]), "replaying a step"));
    return checkCuda(cudaEventRecord(finished[slot].get(), streams[0]), "running");
  }

  unsigned sumsOnDevice() const {
    return static_cast<unsigned>(
        std::ranges::count_if(sums, [](const auto &sum) { return sum.second->onDevice; }));
  }

  /// The run's last commands copy its accumulators to the host's ring.
  Status keepAccumulators() {
    std::byte *to = ring + slot * ringBytes;
    for (const AccumulatorPlace &place : accumulators) {
      if (place.bytes != 0)
        DLC_TRY(checkCuda(
            cudaMemcpyAsync(to, place.from, place.bytes, cudaMemcpyDeviceToHost, streams[0]),
            "keeping losses"));
      to += place.bytes;
    }
    return {};
  }

  /// A capture must be ended even where a command failed; then there is no graph, and nothing ran.
  Status endCapture(Status before) {
    CudaGraph graph;
    Status ended = checkCuda(cudaStreamEndCapture(streams[0], graph.out()), "recording a step");
    if (broken)
      return {};
    DLC_TRY(std::move(before));
    DLC_TRY(std::move(ended));
    RecordedRun run;
    DLC_TRY(checkCuda(cudaGraphInstantiate(run.graph.out(), graph.get(), 0), "recording a step"));
    run.inputs = inputs;
    run.slot = slot;
    // A caller that binds other memory each time would fill the device with graphs.
    constexpr size_t most = 8;
    if (recorded.size() == most)
      recorded.erase(recorded.begin());
    recorded.push_back(std::move(run));
    replaying = &recorded.back();
    return {};
  }

  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<const Module> module;
  std::shared_ptr<CudaModule> code;
  /// Of the plan, the device's first; and those that are the queue's own.
  std::vector<cudaStream_t> streams;
  std::vector<CudaStream> owned;
  std::vector<CudaEvent> events;
  /// Events of the plan; behind them those that fork and join.
  uint32_t planEvents = 0;
  /// By record, those of several ranks. Through the host: those under way, in the order of the
  /// plan; and the events that wait for one.
  std::map<uint32_t, std::unique_ptr<StagedSum>> sums;
  bool throughHost = false;
  NcclRanks *nccl = nullptr;
  std::vector<StagedSum *> pending;
  std::map<uint32_t, StagedSum *> recordedBehind;
  std::vector<void *> parameters;
  std::vector<RecordedRun> recorded;
  RecordedRun *replaying = nullptr;
  bool capturing = false, broken = false;
  /// A traced run: whether the last command was timed, between these two.
  bool traced = false, timed = false;
  CudaEvent before, after;
  std::vector<const std::byte *> inputs;
  uint64_t runs = 0;
  /// The run's slot; the values of two runs, and when they are there.
  unsigned slot = 0;
  std::span<const AccumulatorPlace> accumulators;
  std::byte *ring = nullptr;
  size_t ringBytes = 0;
  CudaEvent finished[2];
};

/// "13.0" of 13000
std::string versionText(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

Status checkDriver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return unsupported("device cuda: no NVIDIA driver (libcuda.so.1) on this machine");
  // Minor versions are compatible, major versions are not.
  if (driver / 1000 < CUDART_VERSION / 1000)
    return unsupported("device cuda: the driver supports CUDA ", versionText(driver),
                       ", needed is ", versionText(CUDART_VERSION / 1000 * 1000), " or newer");
  return {};
}

} // namespace

Result<std::shared_ptr<Device>> CudaDevice::open(const CudaOptions &options) {
  DLC_TRY(checkDriver());
  int count = 0;
  if (cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
    return unsupported("device cuda: the driver offers no device",
                       error == cudaSuccess || error == cudaErrorNoDevice
                           ? ""
                           : concat(": ", cudaGetErrorString(error)));
  if (options.ordinal < 0 || options.ordinal >= count)
    return unsupported("device cuda: device ", options.ordinal, " of ", count);
  auto device = std::make_shared<CudaDevice>();
  device->options = options;
  device->options.ordinal = (options.ordinal + static_cast<int>(options.localRank)) % count;
  DLC_TRY(device->activate());
  DLC_TRY(checkCuda(cudaGetDeviceProperties(&device->hardware, device->options.ordinal),
                    "asking for properties"));
  for (CudaStream *stream : {&device->mainStream, &device->inputStream})
    DLC_TRY(checkCuda(cudaStreamCreateWithFlags(stream->out(), cudaStreamNonBlocking),
                      "making a stream"));
  DLC_TRY(checkCuda(cudaEventCreateWithFlags(device->betweenStreams.out(), cudaEventDisableTiming),
                    "making an event"));
  DLC_TRY(checkCuda(cudaHostAlloc(&device->uploads, uploadBytes, 0), "pinning memory"));
  return std::shared_ptr<Device>(std::move(device));
}

CudaDevice::~CudaDevice() {
  if (uploads)
    cudaFreeHost(uploads);
}

bool CudaDevice::isConnected() {
  std::lock_guard lock(runMutex);
  return ncclRanks && ncclRanks->isConnected();
}

Status CudaDevice::await(cudaStream_t stream, std::string_view what) {
  return isConnected() ? poll(cudaStreamQuery, stream, what)
                       : checkCuda(cudaStreamSynchronize(stream), what);
}

Status CudaDevice::await(cudaEvent_t event, std::string_view what) {
  return isConnected() ? poll(cudaEventQuery, event, what)
                       : checkCuda(cudaEventSynchronize(event), what);
}

/// Sums that a lost rank does not come to end by abort().
template <typename Awaited>
Status CudaDevice::poll(cudaError_t (*query)(Awaited), Awaited awaited, std::string_view what) {
  Status status = ranks().waitUntil([&]() -> Result<bool> {
    const cudaError_t error = query(awaited);
    if (error != cudaErrorNotReady) {
      DLC_TRY(checkCuda(error, what));
      return true;
    }
    cudaGetLastError(); // It would be reported again by a later call.
    std::lock_guard lock(runMutex);
    DLC_TRY(ncclRanks->check());
    return false;
  });
  if (status.ok())
    return status;
  std::lock_guard lock(runMutex);
  ncclRanks->abort();
  return status;
}

Status CudaDevice::upload(std::byte *to, std::span<const std::byte> source) {
  if (source.empty())
    return {};
  const void *from = source.data();
  // Large writes, of variables and constants, are no part of a step: they are waited for.
  const bool waits = source.size() > uploadBytes / 8;
  if (!waits) {
    if (uploaded + source.size() > uploadBytes) {
      DLC_TRY(await(stream(), "writing memory"));
      uploaded = 0;
    }
    from = std::memcpy(static_cast<std::byte *>(uploads) + uploaded, source.data(), source.size());
    uploaded += alignUp(source.size(), DLC_ALIGNMENT);
  }
  DLC_TRY(checkCuda(cudaMemcpyAsync(to, from, source.size(), cudaMemcpyHostToDevice, stream()),
                    "writing memory"));
  return waits ? await(stream(), "writing memory") : Status();
}

Status CudaDevice::checkPlace(const void *start, Place place) const {
  if (!start)
    return {};
  cudaPointerAttributes found = {};
  DLC_TRY(checkCuda(cudaPointerGetAttributes(&found, start), "asking where memory lies"));
  if (found.type == cudaMemoryTypeManaged)
    return {};
  const bool isHost = found.type != cudaMemoryTypeDevice;
  if (place == Place::Host)
    return isHost
               ? Status()
               : invalid("lies on CUDA device ", found.device, ", and is said to lie on the host");
  if (isHost)
    return invalid("lies on the host, and is said to lie on the device");
  return found.device == options.ordinal ? Status()
                                         : invalid("lies on CUDA device ", found.device,
                                                   ", the run is on device ", options.ordinal);
}

Status CudaDevice::follow(void *stream) {
  std::lock_guard lock(runMutex);
  DLC_TRY(activate());
  const auto program = static_cast<cudaStream_t>(stream);
  constexpr std::string_view what = "following the program's stream";
  cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
  DLC_TRY(checkCuda(cudaStreamIsCapturing(program, &recording), what));
  if (recording != cudaStreamCaptureStatusNone)
    return invalid("the program's stream records a graph, and a run cannot be part of it");
  DLC_TRY(checkCuda(cudaEventRecord(betweenStreams.get(), program), what));
  for (cudaStream_t own : {mainStream.get(), inputStream.get()})
    DLC_TRY(checkCuda(cudaStreamWaitEvent(own, betweenStreams.get(), 0), what));
  return {};
}

/// The input stream has nothing that the main one does not wait for.
Status CudaDevice::precede(void *stream) {
  std::lock_guard lock(runMutex);
  DLC_TRY(activate());
  constexpr std::string_view what = "preceding the program's stream";
  DLC_TRY(checkCuda(cudaEventRecord(betweenStreams.get(), mainStream.get()), what));
  return checkCuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), betweenStreams.get(), 0),
                   what);
}

Result<NcclRanks *> CudaDevice::nccl() {
  if (!std::exchange(askedForNccl, true)) {
    const std::string_view uuid(hardware.uuid.bytes, sizeof(hardware.uuid.bytes));
    std::string reason;
    DLC_TRY_ASSIGN(opened,
                   NcclRanks::open(ranks(),
                                   {std::string(uuid),
                                    options.libraries ? std::string() : "libraries are left out"},
                                   reason));
    ncclRanks = std::move(opened);
    if (!ncclRanks && ranks().rank() == 0 && options.warn)
      options.warn(concat("sums over ranks go through the host: ", reason));
  }
  return ncclRanks.get();
}

int CudaDevice::attribute(cudaDeviceAttr name) const {
  int value = 0;
  return cudaDeviceGetAttribute(&value, name, options.ordinal) == cudaSuccess ? value : 0;
}

DevicePeaks CudaDevice::peaks() const {
  // Float32 units of a multiprocessor: 64 in sm_80, 128 in all that came after.
  const double units = hardware.major == 8 && hardware.minor == 0 ? 64 : 128;
  const double clock = attribute(cudaDevAttrClockRate) * 1e3,
               memoryClock = attribute(cudaDevAttrMemoryClockRate) * 1e3,
               width = attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
  // Memory moves twice in a cycle.
  return {hardware.multiProcessorCount * units * 2 * clock, memoryClock * 2 * width};
}

std::string CudaDevice::properties() const {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::string text =
      concat("{\"device\":\"cuda\",\"name\":\"", hardware.name, "\",\"architecture\":\"sm_",
             hardware.major, hardware.minor, "\",\"driver\":", driver, ",\"runtime\":", runtime);
  const std::pair<const char *, uint64_t> numbers[] = {
      {"memory_bytes", hardware.totalGlobalMem},
      {"multiprocessors", uint64_t(hardware.multiProcessorCount)},
      {"l2_bytes", uint64_t(hardware.l2CacheSize)},
      {"shared_bytes_per_block", hardware.sharedMemPerBlockOptin},
      {"registers_per_multiprocessor", uint64_t(hardware.regsPerMultiprocessor)},
      {"threads_per_multiprocessor", uint64_t(hardware.maxThreadsPerMultiProcessor)},
      {"clock_khz", uint64_t(attribute(cudaDevAttrClockRate))},
      {"memory_clock_khz", uint64_t(attribute(cudaDevAttrMemoryClockRate))},
      {"memory_bus_bits", uint64_t(attribute(cudaDevAttrGlobalMemoryBusWidth))}};
  for (const auto &[name, value] : numbers)
    text += concat(",\"", name, "\":", value);
  text += concat(",\"peak_tflops\":", peaks().flopsPerSecond * 1e-12,
                 ",\"peak_gb_per_second\":", peaks().bytesPerSecond * 1e-9);
  if (auto blas = CublasLt::load(); blas.ok())
    text += concat(",\"cublaslt\":", (*blas)->version());
  if (auto dnn = Cudnn::load(); dnn.ok())
    text += concat(",\"cudnn_version\":", (*dnn)->version());
  // What a compiler without a device needs to ask this cuDNN about this device.
  if (auto json = CudnnTarget::jsonOf(options.ordinal); json.ok())
    text += concat(",\"cudnn\":", *json);
  return text + "}";
}

Result<std::unique_ptr<DeviceMemory>> CudaDevice::allocate(uint64_t bytes) {
  return allocateOn(mainStream.get(), bytes);
}

Result<std::unique_ptr<DeviceMemory>> CudaDevice::allocateStaging(uint64_t bytes) {
  return allocateOn(inputStream.get(), bytes);
}

std::shared_ptr<std::byte> CudaDevice::allocateHost(uint64_t bytes) {
  std::lock_guard lock(runMutex);
  void *start = nullptr;
  if (bytes == 0 || !activate().ok())
    return nullptr;
  if (cudaHostAlloc(&start, bytes, 0) != cudaSuccess) {
    cudaGetLastError(); // It would be reported again by a later call.
    return nullptr;
  }
  std::memset(start, 0, bytes);
  hostBlocks[static_cast<std::byte *>(start)] = bytes;
  auto release = [device = shared_from_this()](std::byte *block) {
    std::lock_guard lock(device->runMutex);
    (void)device->settle();
    device->hostBlocks.erase(block);
    cudaFreeHost(block);
  };
  return {static_cast<std::byte *>(start), release};
}

Status CudaDevice::settle() {
  std::lock_guard lock(runMutex);
  DLC_TRY(activate());
  return await(inputStream.get(), "writing memory");
}

bool CudaDevice::takesFrom(std::span<const std::byte> source) const {
  const auto after = hostBlocks.upper_bound(source.data());
  if (after == hostBlocks.begin())
    return false;
  const auto &[start, bytes] = *std::prev(after);
  return source.data() + source.size() <= start + bytes;
}

Result<std::unique_ptr<DeviceMemory>> CudaDevice::allocateOn(cudaStream_t stream, uint64_t bytes) {
  std::lock_guard lock(runMutex);
  DLC_TRY(activate());
  void *start = nullptr;
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  if (cudaError_t error = cudaMalloc(&start, size); error != cudaSuccess) {
    cudaGetLastError(); // It would be reported again by a later call.
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return failure(StatusCode::OutOfMemory, "device cuda: needs ", (bytes >> 20) + 1,
                   " MiB more, the ", hardware.name, " has ", free >> 20, " MiB free of ",
                   total >> 20);
  }
  auto memory = std::make_unique<CudaMemory>(shared_from_this(), stream, start, bytes);
  DLC_TRY(checkCuda(cudaMemsetAsync(start, 0, size, stream), "clearing memory"));
  return std::unique_ptr<DeviceMemory>(std::move(memory));
}

Result<std::vector<CallReport>> CudaDevice::probe(std::shared_ptr<const Module> module) {
  std::lock_guard lock(runMutex);
  DLC_TRY(activate());
  return CudaModule(std::move(module), hardware, options).probe();
}

Result<std::unique_ptr<CommandQueue>> CudaDevice::createQueue(std::shared_ptr<const Module> module,
                                                              const EntryInfo &entry) {
  DLC_TRY(activate());
  std::shared_ptr<CudaModule> code;
  {
    std::lock_guard lock(runMutex);
    std::weak_ptr<CudaModule> &known = modules[module.get()];
    if (!(code = known.lock()))
      known = code = std::make_shared<CudaModule>(module, hardware, options);
    DLC_TRY(code->prepare(entry));
  }
  auto queue = std::make_unique<CudaQueue>(shared_from_this(), std::move(module), std::move(code));
  DLC_TRY(queue->prepare(entry));
  return std::unique_ptr<CommandQueue>(std::move(queue));
}

} // namespace dlc::runtime
