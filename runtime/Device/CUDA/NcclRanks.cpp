// Agreeing on NCCL, and its communicators.
#include "runtime/Device/CUDA/NcclRanks.h"
#include "dlc/plan.h"
#include "runtime/Device/CUDA/Libraries.h"

#include <cstring>
#include <map>
#include <utility>

namespace dlc::runtime {

Status NcclRanks::checkNccl(ncclResult_t result, std::string_view what) const {
  if (result == ncclSuccess)
    return {};
  return failure(StatusCode::Failed, "NCCL: ", what, ": ", api.errorText(result));
}

/// Why these offers are not enough; empty if they are.
static std::string findObstacle(const std::vector<std::string> &devices,
                                const std::vector<std::string> &reasons) {
  std::map<std::string, size_t> owners;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (!reasons[rank].empty())
      return concat("rank ", rank, ": ", reasons[rank]);
    const auto [owner, isNew] = owners.try_emplace(devices[rank], rank);
    if (!isNew)
      return concat("ranks ", owner->second, " and ", rank, " share a device");
  }
  return "";
}

Result<std::unique_ptr<NcclRanks>> NcclRanks::open(Transport &ranks, const Offer &offer,
                                                   std::string &reason) {
  Result<const Nccl *> loaded = Nccl::load();
  const std::string own = !offer.reason.empty() ? offer.reason
                          : loaded.ok()         ? std::string()
                                                : std::string(loaded.status().message());
  DLC_TRY_ASSIGN(devices, ranks.gather(offer.device));
  DLC_TRY_ASSIGN(reasons, ranks.gather(own));
  reason = findObstacle(devices, reasons);
  if (!reason.empty())
    return std::unique_ptr<NcclRanks>();
  std::unique_ptr<NcclRanks> nccl(new NcclRanks(**loaded));
  DLC_TRY(nccl->connect(ranks));
  return nccl;
}

/// Rank 0 tells the others where to meet.
Status NcclRanks::connect(Transport &ranks) {
  ncclUniqueId ids[DLC_CHANNELS] = {};
  Status made;
  if (ranks.rank() == 0)
    for (ncclUniqueId &id : ids)
      if (made.ok())
        made = checkNccl(api.makeId(&id), "making an id");
  std::string message(made.message());
  DLC_TRY(ranks.broadcast(message));
  if (!message.empty())
    return Status(StatusCode::Failed, message);
  DLC_TRY(ranks.broadcast(std::as_writable_bytes(std::span(ids))));
  for (uint32_t i = 0; i < DLC_CHANNELS; ++i)
    DLC_TRY(checkNccl(api.connect(&channels[i], static_cast<int>(ranks.ranks()), ids[i],
                                  static_cast<int>(ranks.rank())),
                      "connecting the ranks"));
  return {};
}

NcclRanks::~NcclRanks() {
  for (ncclComm_t channel : channels)
    if (channel)
      api.destroy(channel);
}

void NcclRanks::enroll(uint32_t channel, std::byte *buffer, uint64_t bytes) {
  void *handle = nullptr;
  if (api.enroll(channels[channel], buffer, bytes, &handle) == ncclSuccess && handle)
    enrolled.push_back({channel, buffer, handle});
}

void NcclRanks::forget(const std::byte *buffer) {
  std::erase_if(enrolled, [&](const Enrolled &each) {
    if (each.buffer != buffer)
      return false;
    // An aborted communicator has forgotten by itself.
    if (channels[each.channel])
      api.remove(channels[each.channel], each.handle);
    return true;
  });
}

Status NcclRanks::sum(uint32_t channel, dlc_dtype dtype, std::byte *buffer, uint64_t bytes,
                      cudaStream_t stream) {
  const ncclDataType_t type = dtype == DLC_F32   ? ncclFloat32
                              : dtype == DLC_F64 ? ncclFloat64
                              : dtype == DLC_F16 ? ncclFloat16
                                                 : ncclBfloat16;
  return checkNccl(api.allReduce(buffer, buffer, bytes / dtypeSize(dtype), type, ncclSum,
                                 channels[channel], stream),
                   "summing");
}

Status NcclRanks::check(const Transport &ranks) const {
  DLC_TRY(ranks.health());
  for (ncclComm_t channel : channels) {
    if (!channel)
      return failure(StatusCode::Failed, "NCCL: the ranks are no longer connected");
    ncclResult_t error = ncclSuccess;
    DLC_TRY(checkNccl(api.asyncError(channel, &error), "asking for errors"));
    DLC_TRY(checkNccl(error, "summing"));
  }
  return {};
}

void NcclRanks::abort() {
  for (ncclComm_t &channel : channels)
    if (channel)
      api.abort(std::exchange(channel, nullptr));
}

} // namespace dlc::runtime
