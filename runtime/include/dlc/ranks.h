// The processes that train one model together, each with a replica of its own.
//
// Ownership: runs share it. All ranks call the same functions of a Run in the same order. Failure:
// a rank that ends or stands still ends what the others do with code Failed, which says who and
// why; nothing can be begun with these ranks after that.
#ifndef DLC_RANKS_H
#define DLC_RANKS_H

#include "dlc/log.h"
#include "dlc/status.h"

#include <memory>

namespace dlc::runtime {

class Transport;

struct RanksOptions {
  /// Seconds that a rank may keep the others waiting; twenty times as many while it loads,
  /// evaluates or writes, and between the program's calls of a Run and in its observers.
  double timeout = 30;
  /// Hears warnings: of a rank that is stopped, that ranks go on unwatched. Null: nobody.
  Log log = {};
};

class DLC_API Ranks {
public:
  /// The ranks that mpirun or srun started this process among; one where it was started alone. MPI
  /// is initialised by a thread of the library's, and is nobody else's.
  static Result<std::shared_ptr<Ranks>> open(const RanksOptions &options = {});

  /// The processes of a communicator of the program's own, which has initialised MPI itself with
  /// MPI_THREAD_SERIALIZED or more; `communicator` is MPI_Comm_c2f() of it. A thread of the
  /// library's calls MPI while a function of a Run or of Ranks is at work on this process, and at
  /// no other time: a program with MPI_THREAD_SERIALIZED makes no call of MPI then. All processes
  /// of the communicator call join(). It is duplicated, and may be freed. Fails with Unsupported,
  /// in one line, if MPI is not initialised, was finalised, or has another level.
  static Result<std::shared_ptr<Ranks>> join(int communicator, const RanksOptions &options = {});

  explicit Ranks(std::shared_ptr<Transport> transport);
  ~Ranks();

  unsigned rank() const;
  unsigned size() const;

  /// Ends what the ranks do together, when all have come here; before MPI_Finalize(). Without it
  /// the others take the end of this process for a failure.
  Status leave();

  /// What the library's own code calls.
  const std::shared_ptr<Transport> &transport() const { return shared; }

private:
  std::shared_ptr<Transport> shared;
};

} // namespace dlc::runtime

#endif
