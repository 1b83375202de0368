// Agreeing on NCCL, and its communicator.
#include "runtime/Device/CUDA/NcclRanks.h"
#include "dlc/plan.h"
#include "runtime/Device/CUDA/Libraries.h"

#include <cstring>
#include <map>
#include <utility>

namespace dlc::runtime {

Status NcclRanks::checkNccl(ncclResult_t result, std::string_view what) const {
  if (result == ncclSuccess || result == ncclInProgress)
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
  std::unique_ptr<NcclRanks> nccl(new NcclRanks(**loaded, ranks));
  DLC_TRY(nccl->connect());
  return nccl;
}

/// Whether NCCL has done what it was asked for.
Result<bool> NcclRanks::isSettled(std::string_view what) const {
  ncclResult_t state = ncclSuccess;
  DLC_TRY(checkNccl(api.asyncError(communicator, &state), "asking for errors"));
  DLC_TRY(checkNccl(state, what));
  return state != ncclInProgress;
}

/// NCCL does what it is asked for beside its caller, and may have to wait for the other ranks. It
/// may be asked for nothing else meanwhile.
Status NcclRanks::settle(ncclResult_t result, std::string_view what) {
  DLC_TRY(checkNccl(result, what));
  return result == ncclInProgress ? ranks.waitUntil([&] { return isSettled(what); }) : Status();
}

/// Rank 0 tells the others where to meet.
Status NcclRanks::connect() {
  ncclUniqueId id = {};
  Status made;
  if (ranks.rank() == 0)
    made = checkNccl(api.makeId(&id), "making an id");
  std::string message(made.message());
  DLC_TRY(ranks.broadcast(message));
  if (!message.empty())
    return Status(StatusCode::Failed, message);
  DLC_TRY(ranks.broadcast(std::as_writable_bytes(std::span(&id, 1))));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ranks.countStarts(1);
  return settle(api.connect(&communicator, static_cast<int>(ranks.ranks()), id,
                            static_cast<int>(ranks.rank()), &config),
                "connecting the ranks");
}

NcclRanks::~NcclRanks() {
  if (!communicator)
    return;
  const bool parted = check().ok() && settle(api.finalize(communicator), "parting").ok();
  (parted ? api.destroy : api.abort)(communicator);
}

void NcclRanks::enroll(std::byte *buffer, uint64_t bytes) {
  void *handle = nullptr;
  if (communicator && api.enroll(communicator, buffer, bytes, &handle) == ncclSuccess && handle)
    enrolled.push_back({buffer, handle});
}

void NcclRanks::forget(const std::byte *buffer) {
  std::erase_if(enrolled, [&](const Enrolled &each) {
    if (each.buffer != buffer)
      return false;
    // An aborted communicator has forgotten by itself.
    if (communicator)
      api.remove(communicator, each.handle);
    return true;
  });
}

Status NcclRanks::sum(dlc_dtype dtype, std::byte *buffer, uint64_t bytes, cudaStream_t stream) {
  const ncclDataType_t type = dtype == DLC_F32   ? ncclFloat32
                              : dtype == DLC_F64 ? ncclFloat64
                              : dtype == DLC_F16 ? ncclFloat16
                                                 : ncclBfloat16;
  ranks.countStarts(1);
  return settle(
      api.allReduce(buffer, buffer, bytes / dtypeSize(dtype), type, ncclSum, communicator, stream),
      "summing");
}

Status NcclRanks::check() const {
  DLC_TRY(ranks.health());
  if (!communicator)
    return failure(StatusCode::Failed, "NCCL: the ranks are no longer connected");
  Result<bool> settled = isSettled("summing");
  return settled.ok() ? Status() : settled.takeStatus();
}

void NcclRanks::abort() {
  if (communicator)
    api.abort(std::exchange(communicator, nullptr));
}

} // namespace dlc::runtime
