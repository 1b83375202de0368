// The processes of this machine that a starter made ranks of, as the system knows them: what can be
// said of ranks that have not come to MPI's start.
#ifndef DLC_RUNTIME_COLLECTIVES_RANKPROCESSES_H
#define DLC_RUNTIME_COLLECTIVES_RANKPROCESSES_H

#include <map>
#include <string>

namespace dlc::runtime {

struct RankProcess {
  std::string program;
  bool stopped = false;
};
using RankProcesses = std::map<unsigned, RankProcess>;

/// Those of mpirun on this machine that have not ended, by rank. Empty where it cannot be known.
RankProcesses findRankProcesses();

/// ": rank 1 is stopped, rank 2 has ended, rank 3 runs sleep", of `ranks` ranks of whom `own` is
/// the one that asks; who runs the program that it runs is not named. Of ranks that are not there
/// nothing is said if some are on other machines. Empty if there is nothing to say.
std::string describeMissing(const RankProcesses &here, unsigned own, unsigned ranks,
                            bool allAreHere);

} // namespace dlc::runtime

#endif
