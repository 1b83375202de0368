// What the library has to say beside its results, to a program's own logger. The library itself
// prints nothing.
//
// Each line is one sentence as those of a Status are (status.h). Fields of options are named in
// backquotes, as `checkpointEvery`, so that a program can put its own names in their place.
#ifndef DLC_LOG_H
#define DLC_LOG_H

#include <cstdint>
#include <functional>
#include <string_view>

namespace dlc::runtime {

enum class Severity : uint8_t {
  /// Worth knowing, and nothing is wrong.
  Note,
  /// Goes on, but perhaps not as it was meant.
  Warning,
  /// A failure that all ranks have alike and each of them is about to return: what rank 0 hears is
  /// written before any other rank ends. Programs of one rank hear none.
  Error
};

/// Hears a line. Called on the thread that calls the library, and for warnings about ranks on one
/// of the library's own; on rank 0 alone, but for errors, and for the warning that rank 0 is
/// stopped, which is rank 1's. Null: nobody hears. Of a checkpoint that could not be written
/// TrainObserver hears (train.h).
using Log = std::function<void(Severity severity, std::string_view line)>;

} // namespace dlc::runtime

#endif
