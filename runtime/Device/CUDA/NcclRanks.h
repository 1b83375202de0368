// NCCL among the ranks of a device: sums that stay on the devices.
//
// Ownership: a device's queues share it. Threads: one at a time, as the device's running() has it.
// Failure: a rank that ends leaves the others' sums at work on their devices; check() sees it, and
// after abort() these come to an end.
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
  void enroll(uint32_t channel, std::byte *buffer, uint64_t bytes);
  /// Before the buffer's memory is given back.
  void forget(const std::byte *buffer);
  /// Adds up over the ranks in place, behind what the stream has.
  Status sum(uint32_t channel, dlc_dtype dtype, std::byte *buffer, uint64_t bytes,
             cudaStream_t stream);
  /// What went wrong on the device meanwhile, here or on another rank.
  Status check(const Transport &ranks) const;
  void abort();

private:
  explicit NcclRanks(const Nccl &api) : api(api) {}
  Status checkNccl(ncclResult_t result, std::string_view what) const;
  Status connect(Transport &ranks);

  const Nccl &api;
  /// One for each channel of plans: sums of different ones overtake each other.
  ncclComm_t channels[DLC_CHANNELS] = {};
  struct Enrolled {
    uint32_t channel;
    const std::byte *buffer;
    void *handle;
  };
  std::vector<Enrolled> enrolled;
};

} // namespace dlc::runtime

#endif
