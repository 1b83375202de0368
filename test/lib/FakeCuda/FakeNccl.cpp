// The fake's calls.
#include "test/lib/FakeCuda/FakeNccl.h"
#include "runtime/Core/Initialise.h"
#include "test/lib/FakeCuda/FakeCuda.h"

#include <cstring>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <utility>

using namespace dlc::test;

FakeNccl &dlc::test::fakeNccl() {
  static FakeNccl fake;
  return fake;
}

namespace {

struct Communicator {
  /// For how many questions it goes on with what it was asked for; and what it then gives to a
  /// stream.
  int busy = 0;
  std::function<bool()> last;
  /// Sums of it come to nothing, but to an end.
  bool aborted = false;
};
/// Sums that are under way know them yet, so they stay.
std::deque<Communicator> communicators;
Communicator &of(ncclComm_t which) { return *reinterpret_cast<Communicator *>(which); }

const char *errorText(ncclResult_t) { return "of the fake"; }

/// Nothing may be asked of it before it has done what it was asked for before, and an error that
/// was left behind is taken for its own.
ncclResult_t begin(ncclComm_t which, std::function<bool()> last = nullptr) {
  if (of(which).busy != 0)
    return ncclInvalidUsage;
  if (cudaPeekAtLastError() != cudaSuccess)
    return ncclUnhandledCudaError;
  of(which).busy = 3;
  of(which).last = std::move(last);
  return ncclInProgress;
}

ncclResult_t makeId(ncclUniqueId *id) {
  static char number = 0;
  std::memset(id->internal, ++number, sizeof(id->internal));
  return ncclSuccess;
}

ncclResult_t connectRanks(ncclComm_t *made, int count, ncclUniqueId id, int rank,
                          ncclConfig_t *config) {
  static ncclUniqueId last = {};
  // An id connects ranks once.
  if (std::memcmp(&id, &last, sizeof(id)) == 0 || rank >= count || config->blocking != 0)
    return ncclInvalidArgument;
  last = id;
  *made = reinterpret_cast<ncclComm_t>(&communicators.emplace_back());
  fakeNccl().log += "connect " + std::to_string(count) + " rank " + std::to_string(rank) + " ";
  return begin(*made);
}

ncclResult_t finalize(ncclComm_t which) {
  fakeNccl().log += "finalize ";
  return begin(which);
}

ncclResult_t end(ncclComm_t which, const char *how) {
  of(which).aborted = true;
  fakeNccl().log += of(which).busy != 0 ? std::string("busy ") + how : how;
  return ncclSuccess;
}

ncclResult_t asyncError(ncclComm_t which, ncclResult_t *error) {
  Communicator &asked = of(which);
  *error = fakeNccl().error != ncclSuccess ? fakeNccl().error
           : asked.busy > 0                ? ncclInProgress
                                           : ncclSuccess;
  asked.busy -= asked.busy > 0;
  if (asked.busy == 0 && asked.last && !std::exchange(asked.last, nullptr)())
    fakeNccl().error = ncclUnhandledCudaError;
  return ncclSuccess;
}

ncclResult_t allReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                       ncclRedOp_t operation, ncclComm_t which, cudaStream_t stream) {
  // In place, behind what the stream has.
  if (from != to || type != ncclFloat32 || operation != ncclSum)
    return ncclInvalidArgument;
  const auto sum = [=] {
    if (of(which).aborted || fakeCuda().stuck)
      return of(which).aborted;
    auto *buffer = static_cast<std::byte *>(to);
    dlc::runtime::addElements(DLC_F32, buffer, buffer, count);
    fakeNccl().log += "sum " + std::to_string(count) + " ";
    return true;
  };
  return begin(which, [=] { return issueFake(stream, sum); });
}

ncclResult_t enroll(const ncclComm_t which, void *buffer, size_t bytes, void **handle) {
  if (isCapturingFake() || of(which).busy != 0)
    return ncclInvalidUsage;
  *handle = buffer;
  fakeNccl().log += "register " + std::to_string(bytes) + " ";
  return ncclSuccess;
}

ncclResult_t removeBuffer(const ncclComm_t, void *) {
  fakeNccl().log += "deregister ";
  return ncclSuccess;
}

} // namespace

const dlc::runtime::Nccl &dlc::test::fakeNcclCalls() {
  static const dlc::runtime::Nccl calls = {errorText,
                                           makeId,
                                           connectRanks,
                                           finalize,
                                           [](ncclComm_t which) { return end(which, "destroy "); },
                                           [](ncclComm_t which) { return end(which, "abort "); },
                                           asyncError,
                                           allReduce,
                                           enroll,
                                           removeBuffer};
  return calls;
}
