// The sums of one record of a plan, run after run: exact, or compressed as dlc_collective says.
//
// A compressed sum is a gather of what each rank has packed, which all ranks add up in the order of
// ranks: the same bits on all of them. What packing leaves out is added to the next run's numbers
// (error feedback; Seide et al. 2014 for single bits, Stich et al. 2018 for the largest elements).
// It is each rank's own, as large as the buffer: the residual, which the State keeps. A sum of
// which something is not finite leaves the residuals of all ranks as they were: an update that is
// left out for it is one step's, and what is not finite would never leave them. With one rank
// nothing is compressed.
//
// Threads: one at a time. Memory: the buffer as for Transport::start().
#ifndef DLC_RUNTIME_COLLECTIVES_RECORDSUM_H
#define DLC_RUNTIME_COLLECTIVES_RECORDSUM_H

#include "runtime/Collectives/Transport.h"

namespace dlc::runtime {

/// What a rank sends of a buffer of `bytes` bytes; in a compressed sum, of f32.
uint64_t bytesSent(dlc_collective kind, uint64_t bytes);

class RecordSum {
public:
  explicit RecordSum(dlc_collective kind) : kind(kind) {}

  /// Starts a sum over `buffer`, of elements of `dtype`. `residual`: by element, what the sums so
  /// far have left out, which finish() changes; not looked at where nothing is compressed, or this
  /// rank adds nothing.
  Result<Transport::Ticket> start(Transport &ranks, uint32_t channel, dlc_dtype dtype,
                                  std::span<std::byte> buffer, std::span<float> residual,
                                  Collective::Times *times);
  /// Puts the sum into the buffer, when the ticket has been waited for.
  void finish();

private:
  template <typename Packing> void addUp();

  dlc_collective kind;
  /// The buffer; until finish() what packing has left out, which then becomes the residual `left`.
  std::span<float> numbers, left;
  /// What each rank has packed.
  std::vector<std::byte> packed;
};

} // namespace dlc::runtime

#endif
