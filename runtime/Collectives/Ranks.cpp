// Ranks as a program sees them: a transport that is MPI's, or of one process.
#include "dlc/ranks.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

static Result<std::shared_ptr<Ranks>> make(const TransportOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Ranks>> {
    if (!(options.timeout > 0))
      return invalid("`timeout`: expected seconds above 0, found ", numberText(options.timeout));
    DLC_TRY_ASSIGN(transport, openTransport(options));
    return std::make_shared<Ranks>(std::move(transport));
  });
}

Result<std::shared_ptr<Ranks>> Ranks::open(const RanksOptions &options) {
  return make({.timeout = options.timeout, .log = options.log});
}

Result<std::shared_ptr<Ranks>> Ranks::join(int communicator, const RanksOptions &options) {
  return make({.timeout = options.timeout, .communicator = communicator, .log = options.log});
}

Ranks::Ranks(std::shared_ptr<Transport> transport) : shared(std::move(transport)) {}

Ranks::~Ranks() = default;

unsigned Ranks::rank() const { return shared->rank(); }

unsigned Ranks::size() const { return shared->ranks(); }

Status Ranks::leave() { return shared->leave(); }

} // namespace dlc::runtime
