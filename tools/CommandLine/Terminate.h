// How a program of dlc ends where the C++ library cannot unwind: memory that ends in a destructor.
#ifndef DLC_TOOLS_COMMANDLINE_TERMINATE_H
#define DLC_TOOLS_COMMANDLINE_TERMINATE_H

namespace dlc::tool {

/// From now on such an end is one line on standard error and exit code 1, not a signal.
void reportTermination();

} // namespace dlc::tool

#endif
