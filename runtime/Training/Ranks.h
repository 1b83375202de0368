// What training does among ranks beside the collectives of its plan: agreeing on what is trained,
// and keeping equal what must be. Over one rank all of it does nothing.
//
// Threads: the one that trains; all ranks call the same in the same order.
#ifndef DLC_RUNTIME_TRAINING_RANKS_H
#define DLC_RUNTIME_TRAINING_RANKS_H

#include "dlc/checkpoint.h"
#include "dlc/context.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Processors.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/Dataset.h"

#include <utility>
#include <vector>

namespace dlc::runtime {

/// What all ranks must have alike: what it is, and the value as text.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Fails on all ranks, with the same message, if `own` has failed on one of them, or if facts
/// differ from those of rank 0: the message names the ranks, and what differs. Where nothing does
/// that costs two collectives of a few bytes.
Status agree(Transport &ranks, const Status &own, const Facts &facts);

/// Number of samples, and a hash of up to 4,096 of them, evenly spread; of 64 that must be read.
Result<std::string> describeSamples(const Dataset &dataset);

/// Gives all ranks the metadata, parameters, slots, statistics and counters that rank 0 has.
Status broadcastRun(Transport &ranks, Metadata &metadata, State &state);

/// What all ranks carry from batch to batch, to rank 0; others get nothing.
Result<CarriedStates> gatherStates(Transport &ranks, const State &state);
/// Gives each rank what it carried: `all` is that of rank 0, the others' is not looked at.
Status scatterStates(Transport &ranks, const CarriedStates &all, State &state);
/// Gives each rank the mean over the ranks of `all` of their residuals, which any number of ranks
/// goes on from: sums bring in all, as before, what had been left out of a mean over the ranks.
Status shareResiduals(Transport &ranks, const CarriedStates &all, State &state);

/// How many ranks have a batch, `has` being whether this one does. Fails on all ranks if `own` has
/// failed on one of them, which keeps its failure.
Result<unsigned> countBatches(Transport &ranks, const Status &own, bool has);

/// Makes variable number `index`, of floats, the mean over the ranks, each counting `weight` times;
/// `all` is the sum of their weights. With weight 0 its own value may be anything.
Status averageVariable(Transport &ranks, State &state, size_t index, double weight, double all);

/// Makes each statistic, of floats, the mean over the ranks, weighted as in averageVariable().
Status averageStatistics(Transport &ranks, State &state, double weight, double all);
/// All ranks count alike.
Status averageStatistics(Transport &ranks, State &state);

/// Makes each sum of gradients that `accumulate` adds to the mean over the ranks: what they have
/// come to so far is so that of any number of ranks.
Status averageGradientSums(Transport &ranks, State &state, const EntryInfo &accumulate);

/// Fails on all ranks if the parameters are not the same bits on all of them. A sum over ranks is
/// the same on all by the algorithms that MPI's own libraries choose, not by its standard.
Status compareParameters(Transport &ranks, const State &state);

/// Fails where there are several ranks and the module trains on one.
Status checkDataParallel(const Transport &ranks, const Module &module);

/// Where the plan's sums are compressed and there are so many ranks that this moves more bytes than
/// exact sums would: says so. Else empty.
std::string compressionWarning(const Plan &plan, unsigned ranks);

/// The scalars by which an update makes a mean over the ranks of their sum: 1 / ranks, and, for
/// f64, their number.
inline constexpr std::string_view ranksScale = "ranks.scale", ranksCount = "ranks.count";

/// Writes them, where the context's module has them, for `count` ranks or all of its device.
Status scaleByRanks(Context &context, unsigned count);
Status scaleByRanks(Context &context);

/// How many threads this rank has cores and time for, beside those that share them with it.
Result<unsigned> threadsOfRank(Transport &ranks, const Processors &own = processors());

} // namespace dlc::runtime

#endif
