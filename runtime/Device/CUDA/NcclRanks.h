// NCCL among the ranks of a device: sums that stay on the devices.
//
// One communicator for all channels of plans, and the order of the plan: kernels of two
// communicators may each hold multiprocessors that the other needs, on different devices, and then
// wait for each other for ever. Calls of NCCL return at once, and are waited for in a way that ends
// where a rank is lost.
//
// Ownership: a device's queues share it; the transport outlives it. Threads: one at a time, as the
// device's running() has it. Failure: a rank that ends leaves the others' sums at work on their
// devices; check() sees it, and after abort() these come to an end.
#ifndef DLC_RUNTIME_DEVICE_CUDA_NCCLRANKS_H
#define DLC_RUNTIME_DEVICE_CUDA_NCCLRANKS_H

#include "runtime/Collectives/Transport.h"
#include "runtime/Device/CUDA/CudaSupport.h"

#include <nccl.h>
#include <vector>

namespace dlc::runtime {

struct Nccl;

class NcclRanks {
public:
  /// What one rank offers: the name of its device, different from all others' in the world; or why
  /// it cannot.
  struct Offer {
    std::string device, reason;
  };
  /// Called by all ranks together. Gives null, on all of them, if one cannot or if two share a
  /// device; `reason` then says why.
  static Result<std::unique_ptr<NcclRanks>> open(Transport &ranks, const Offer &offer,
                                                 std::string &reason);
  ~NcclRanks();

  /// Lets NCCL reach a buffer of sums where it lies, without copies of its own, until the ranks
  /// part or forget(). What it cannot register it sums all the same, through its own buffers.
  void enroll(std::byte *buffer, uint64_t bytes);
  /// Before the buffer's memory is given back.
  void forget(const std::byte *buffer);
  /// Adds up over the ranks in place, behind what the stream has. All ranks ask for the same sums
  /// in the same order, and so do the streams that they ask for them on.
  Status sum(dlc_dtype dtype, std::byte *buffer, uint64_t bytes, cudaStream_t stream);
  /// False behind abort().
  bool isConnected() const { return communicator != nullptr; }
  /// What went wrong on the device meanwhile, here or on another rank.
  Status check() const;
  void abort();

private:
  NcclRanks(const Nccl &api, Transport &ranks) : api(api), ranks(ranks) {}
  Status checkNccl(ncclResult_t result, std::string_view what) const;
  Result<bool> isSettled(std::string_view what) const;
  Status settle(ncclResult_t result, std::string_view what);
  Status connect();

  const Nccl &api;
  Transport &ranks;
  ncclComm_t communicator = nullptr;
  struct Enrolled {
    const std::byte *buffer;
    void *handle;
  };
  std::vector<Enrolled> enrolled;
};

} // namespace dlc::runtime

#endif
