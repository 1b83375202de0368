// The fake's calls.
#include "test/lib/FakeCuda/FakeNccl.h"
#include "runtime/Core/Initialise.h"
#include "test/lib/FakeCuda/FakeCuda.h"

#include <cstring>

using namespace dlc::test;

FakeNccl &dlc::test::fakeNccl() {
  static FakeNccl fake;
  return fake;
}

namespace {

/// Made in the order of channels, as ids are.
struct Communicator {
  int number;
};

const char *errorText(ncclResult_t) { return "of the fake"; }

ncclResult_t makeId(ncclUniqueId *id) {
  static char number = 0;
  std::memset(id->internal, ++number, sizeof(id->internal));
  return ncclSuccess;
}

ncclResult_t connectRanks(ncclComm_t *made, int count, ncclUniqueId id, int rank) {
  static ncclUniqueId last = {};
  static int number = 0;
  // An id connects ranks once.
  if (std::memcmp(&id, &last, sizeof(id)) == 0 || rank >= count)
    return ncclInvalidArgument;
  last = id;
  *made = reinterpret_cast<ncclComm_t>(new Communicator{number++ % 2});
  fakeNccl().log += "connect " + std::to_string(count) + " rank " + std::to_string(rank) + " ";
  return ncclSuccess;
}

ncclResult_t end(ncclComm_t which, const char *how) {
  delete reinterpret_cast<Communicator *>(which);
  fakeNccl().log += how;
  return ncclSuccess;
}

ncclResult_t asyncError(ncclComm_t, ncclResult_t *error) {
  *error = fakeNccl().error;
  return ncclSuccess;
}

ncclResult_t allReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                       ncclRedOp_t operation, ncclComm_t which, cudaStream_t stream) {
  // In place, behind what the stream has, and never on the stream that kernels run on.
  if (from != to || type != ncclFloat32 || operation != ncclSum)
    return ncclInvalidArgument;
  const int channel = reinterpret_cast<Communicator *>(which)->number;
  const bool taken = issueFake(stream, [=] {
    auto *buffer = static_cast<std::byte *>(to);
    dlc::runtime::addElements(DLC_F32, buffer, buffer, count);
    fakeNccl().log += "sum " + std::to_string(channel) + " x " + std::to_string(count) + " ";
  });
  return taken ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t enroll(const ncclComm_t, void *buffer, size_t bytes, void **handle) {
  if (isCapturingFake())
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
                                           [](ncclComm_t which) { return end(which, "destroy "); },
                                           [](ncclComm_t which) { return end(which, "abort "); },
                                           asyncError,
                                           allReduce,
                                           enroll,
                                           removeBuffer};
  return calls;
}
