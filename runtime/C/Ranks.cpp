// The ranks of dlc/c.h.
#include "runtime/C/Ranks.h"
#include "runtime/C/Arguments.h"

using namespace dlc::runtime;

namespace {

/// What `open` opens gets a handle.
template <typename Open>
dlc_status openRanks(const dlc_ranks_options *given, dlc_ranks **out, const Open &open) {
  return report(guarded([&]() -> Status {
    DLC_TRY(present(out, "out_ranks"));
    *out = nullptr;
    RanksOptions options;
    if (given) {
      DLC_TRY_ASSIGN(taken, structOf(given, "dlc_ranks_options"));
      if (taken.timeout != 0)
        options.timeout = taken.timeout;
      options.log = logOf(taken.log, taken.user);
    }
    DLC_TRY_ASSIGN(ranks, open(options));
    *out = static_cast<dlc_ranks *>(addHandle(std::make_unique<RanksHandle>(std::move(ranks))));
    return {};
  }));
}

/// Numbers of ranks do not change, so that they can be asked for at any time.
template <unsigned (Ranks::*number)() const>
dlc_status numberOf(const dlc_ranks *ranks, unsigned *out, std::string_view name) {
  if (!out)
    return report(guarded([&] { return present(out, name); }));
  const char *why = visitHandle(
      ranks, HandleKind::Ranks,
      [](HandleObject &object, void *result) {
        *static_cast<unsigned *>(result) = (*static_cast<RanksHandle &>(object).ranks.*number)();
      },
      out);
  return why ? refuse(DLC_NOT_ALIVE, why) : DLC_OK;
}

} // namespace

dlc_status dlc_ranks_launched(const dlc_ranks_options *options, dlc_ranks **out_ranks) {
  return openRanks(options, out_ranks,
                   [](const RanksOptions &taken) { return Ranks::open(taken); });
}

dlc_status dlc_ranks_join(int communicator, const dlc_ranks_options *options,
                          dlc_ranks **out_ranks) {
  return openRanks(options, out_ranks, [communicator](const RanksOptions &taken) {
    return Ranks::join(communicator, taken);
  });
}

dlc_status dlc_ranks_rank(dlc_ranks *ranks, unsigned *out_rank) {
  return numberOf<&Ranks::rank>(ranks, out_rank, "out_rank");
}
dlc_status dlc_ranks_size(dlc_ranks *ranks, unsigned *out_size) {
  return numberOf<&Ranks::size>(ranks, out_size, "out_size");
}

dlc_status dlc_ranks_leave(dlc_ranks *ranks) {
  HandleWork work;
  if (dlc_status refused = work.begin(ranks, HandleKind::Ranks, Calls::Everything))
    return refused;
  return report(guarded([&] { return ranksOf(work).ranks->leave(); }));
}

dlc_status dlc_ranks_free(dlc_ranks *ranks) { return freeHandle(ranks, HandleKind::Ranks); }
