// Commands are collected, and carried out when the run ends (or is waited for) in an order of the
// device's choice.
#include "runtime/Device/SIMT/SimtDevice.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/CPU/HostDevice.h"
#include "runtime/Device/SIMT/Reference.h"
#include "runtime/Device/SIMT/Schedule.h"

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <numeric>

namespace dlc::runtime {
namespace {

/// What a kernel said about its error, and the way back from it.
///
/// A kernel fails on the stack of a fiber of its own, which lies in its scratch. The way back to
/// the device is longjmp to the thread that called the kernel: the fibers are abandoned, which is
/// sound because a kernel owns nothing outside of its scratch (abi.h). Until then nothing may
/// allocate on the small stack, so the words are copied into fixed room.
struct FailureReport {
  jmp_buf back;
  uint32_t block = 0, thread = 0, line = 0;
  char file[256] = {}, message[256] = {};
};

template <size_t size> void copyText(char (&to)[size], const char *from) {
  std::snprintf(to, size, "%s", from ? from : "?");
}

[[noreturn]] void failKernel(const dlc_simt *simt, uint32_t block, uint32_t thread,
                             const char *file, uint32_t line, const char *message) {
  auto &report = *static_cast<FailureReport *>(simt->user);
  report.block = block;
  report.thread = thread;
  report.line = line;
  copyText(report.file, file);
  copyText(report.message, message);
  longjmp(report.back, 1);
}

/// Runs one block. False if it failed. Nothing in here needs a destructor, as setjmp demands.
bool runBlock(dlc_kernel_fn function, const dlc_args &given, uint32_t block, std::byte *scratch,
              FailureReport &report) {
  dlc_simt simt = *given.simt;
  simt.user = &report;
  dlc_args args = given;
  args.simt = &simt;
  if (setjmp(report.back) != 0)
    return false;
  function(&args, block, scratch);
  return true;
}

/// A launch while its blocks run on several threads.
struct RunningLaunch {
  dlc_kernel_fn function;
  dlc_args args;
  const std::vector<uint32_t> &blocks;
  std::byte *scratch;
  uint64_t scratchStride;
  /// The first failure ends the launch: later blocks do nothing.
  mutable std::atomic<bool> failed{false};
  mutable FailureReport failure{};

  void run(uint32_t number, unsigned thread) const {
    if (failed.load(std::memory_order_relaxed))
      return;
    FailureReport report;
    if (runBlock(function, args, blocks[number], scratch + thread * scratchStride, report))
      return;
    if (!failed.exchange(true))
      failure = report;
  }
};

class SimtQueue : public CommandQueue {
public:
  SimtQueue(std::shared_ptr<SimtDevice> device, std::shared_ptr<const Module> module,
            const EntryInfo &entry, ThreadScratch scratch)
      : device(std::move(device)), module(std::move(module)), entry(entry),
        scratch(std::move(scratch)), recordedBy(entry.events, OrderedCommand::none) {}

  Result<bool> begin(const RunStart &start) override {
    accumulators.begin(start);
    std::seed_seq seeds{device->seed(), device->seed() >> 32, runs};
    random.seed(seeds);
    device->running().lock();
    poison(start.arena);
    ++runs;
    return true;
  }
  Status end() override {
    Status status = carryOut();
    accumulators.end();
    device->running().unlock();
    return status;
  }
  bool accepts(uint32_t) const override { return device->hasLibraries(); }
  Result<std::span<const std::byte>> results(unsigned slot) override {
    return accumulators.of(slot);
  }
  Result<std::optional<double>> synchronize() override {
    DLC_TRY(carryOut());
    return std::optional<double>();
  }

  Status launch(uint32_t stream, const Launch &launch) override {
    return add(stream, [this, &launch] { return runLaunch(launch); });
  }
  Status library(uint32_t stream, const Launch &call) override {
    return add(stream, [this, &call] {
      runLibraryCall(module->plan().calls[call.index], call.args.buffers, device->pool());
      return Status();
    });
  }
  Status copy(uint32_t stream, std::byte *to, const std::byte *from, uint64_t bytes) override {
    return add(stream, [=] {
      std::memcpy(to, from, bytes);
      return Status();
    });
  }
  Status fill(uint32_t stream, std::byte *to, uint8_t value, uint64_t bytes) override {
    return add(stream, [=] {
      std::memset(to, value, bytes);
      return Status();
    });
  }
  Status sum(uint32_t stream, const DeviceCollective &collective) override {
    return add(stream, [this, stream, collective] { return startSum(stream, collective); });
  }
  Status recordEvent(uint32_t stream, uint32_t event) override {
    recordedBy[event] = order.size();
    return add(stream, [] { return Status(); });
  }
  Status waitEvent(uint32_t stream, uint32_t event) override {
    return add(stream, [] { return Status(); }, recordedBy[event]);
  }

private:
  using Command = std::function<Status()>;

  Status add(uint32_t stream, Command command, size_t waitsFor = OrderedCommand::none) {
    // In this order, so that each number in `order` has its command even if memory ends here.
    commands.push_back(std::move(command));
    order.push_back({stream, waitsFor});
    return {};
  }

  /// By turns: halves of 0x7ff7, which are not a number in every float type, and bytes of 0x7e, a
  /// huge number: max(x, 0) hides the first kind, a comparison may hide the second.
  void poison(std::byte *arena) {
    static constexpr uint8_t patterns[2][2] = {{0xf7, 0x7f}, {0x7e, 0x7e}};
    const uint8_t (&pattern)[2] = patterns[(device->seed() + runs) % 2];
    for (uint64_t i = 0; i < entry.arenaBytes; ++i)
      arena[i] = std::byte(pattern[i % 2]);
  }

  Status runCommands() {
    for (size_t command : adversarialOrder(order, random)) {
      DLC_TRY(finishSum(order[command].stream));
      DLC_TRY(commands[command]());
    }
    return {};
  }

  /// A sum goes through host memory. Until the next command of its stream the buffer holds garbage:
  /// who reads it without waiting for the sum will be seen.
  Status startSum(uint32_t stream, const DeviceCollective &collective) {
    StartedSum &sum = started[stream];
    const std::span buffer(collective.buffer, collective.bytes);
    RecordSum &all = sums.try_emplace(collective.record, collective.kind).first->second;
    sum = {buffer, {buffer.begin(), buffer.end()}, &all, 0};
    std::ranges::fill(buffer, std::byte(0x7e));
    DLC_TRY_ASSIGN(ticket, all.start(device->ranks(), collective.channel, collective.dtype,
                                     sum.staging, collective.residual, nullptr));
    sum.ticket = ticket;
    return {};
  }

  Status finishSum(uint32_t stream) {
    auto found = started.find(stream);
    if (found == started.end())
      return {};
    DLC_TRY(device->ranks().wait(found->second.ticket));
    found->second.finish();
    started.erase(found);
    return {};
  }

  /// Waits for all, after a failure as well: until then their memory is not ours.
  Status finishSums() {
    Status all;
    for (auto &[stream, sum] : started)
      if (Status status = device->ranks().wait(sum.ticket); !status.ok())
        all = std::move(status);
      else
        sum.finish();
    started.clear();
    return all;
  }

  Status carryOut() {
    Status status = guarded([&] { return runCommands(); });
    Status summed = guarded([&] { return finishSums(); });
    if (status.ok())
      status = std::move(summed);
    order.clear();
    commands.clear();
    // Who waits for an event from now on, waits for what is done.
    std::fill(recordedBy.begin(), recordedBy.end(), OrderedCommand::none);
    return status;
  }

  Status runLaunch(const Launch &launch) {
    const Plan &plan = module->plan();
    const dlc_record &record = plan.records[launch.record];
    const KernelInfo &kernel = plan.kernels[launch.index];
    std::vector<uint64_t> bytes(record.arguments.count);
    for (uint32_t i = 0; i < record.arguments.count; ++i)
      bytes[i] = plan.arguments[record.arguments.first + i].bytes;
    std::vector<uint32_t> blocks(launch.tasks);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    const dlc_simt simt{sizeof(dlc_simt), launch.tasks, random(),
                        bytes.data(),     failKernel,   nullptr};
    RunningLaunch running{module->kernelFunctions()[kernel.function], launch.args, blocks,
                          scratch.memory.data(), scratch.stride};
    running.args.simt = &simt;
    device->pool().run(
        launch.tasks,
        [](const void *context, uint32_t number, unsigned thread) {
          static_cast<const RunningLaunch *>(context)->run(number, thread);
        },
        &running);
    if (!running.failed)
      return {};
    const FailureReport &report = running.failure;
    return failure(StatusCode::Failed, "'", plan.recordNames[launch.record], "', kernel ",
                   kernel.symbol, ", block ", report.block, ", thread ", report.thread, ", ",
                   report.file, ":", report.line, ": ", report.message);
  }

  /// A sum under way.
  struct StartedSum {
    std::span<std::byte> buffer;
    std::vector<std::byte> staging;
    RecordSum *all;
    Transport::Ticket ticket;

    void finish() {
      all->finish();
      std::ranges::copy(staging, buffer.begin());
    }
  };

  std::shared_ptr<SimtDevice> device;
  std::shared_ptr<const Module> module;
  const EntryInfo &entry;
  ThreadScratch scratch;
  HostResults accumulators;
  uint64_t runs = 0;
  std::mt19937_64 random;
  /// The run's commands in table order, and what each does.
  std::vector<OrderedCommand> order;
  std::vector<Command> commands;
  /// For each event the command that recorded it last.
  std::vector<size_t> recordedBy;
  /// By record, and by stream.
  std::map<uint32_t, RecordSum> sums;
  std::map<uint32_t, StartedSum> started;
};

} // namespace

Result<std::unique_ptr<DeviceMemory>> SimtDevice::allocate(uint64_t bytes) {
  return allocateOnHost(bytes);
}

Result<std::vector<CallReport>> SimtDevice::probe(std::shared_ptr<const Module> module) {
  const CallReport each = {libraries, libraries ? "plain loops" : "libraries are left out"};
  return std::vector<CallReport>(module->plan().calls.size(), each);
}

Result<std::unique_ptr<CommandQueue>> SimtDevice::createQueue(std::shared_ptr<const Module> module,
                                                              const EntryInfo &entry) {
  DLC_TRY(checkCpuFeatures(module->note()).in(module->path()));
  const Plan &plan = module->plan();
  uint64_t bytes = 0;
  for (uint32_t i = entry.records.first; i < entry.records.first + entry.records.count; ++i) {
    const dlc_record &record = plan.records[i];
    if (record.kind == DLC_RECORD_LIBRARY && !libraries &&
        !plan.hasAlternative(entry, record.index))
      return unsupported("record ", i, " '", plan.recordNames[i],
                         "' is a library call without a kernel of dlc beside it");
    if (record.kind == DLC_RECORD_LAUNCH)
      bytes = std::max(bytes, plan.kernels[record.index].scratchBytes);
  }
  DLC_TRY_ASSIGN(scratch, allocateScratch(bytes, threadPool.threads()));
  return std::unique_ptr<CommandQueue>(std::make_unique<SimtQueue>(
      shared_from_this(), std::move(module), entry, std::move(scratch)));
}

Result<std::shared_ptr<Device>> openSimt(const SimtOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    DLC_TRY_ASSIGN(threads, checkedThreads(options.threads));
    return std::shared_ptr<Device>(std::make_shared<SimtDevice>(threads, options));
  });
}

} // namespace dlc::runtime
