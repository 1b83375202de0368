// What each program of dlc does about the streams it was started with: none of them may end in a
// file of ours, and output that is lost is a failure.
#ifndef DLC_TOOLS_COMMANDLINE_STANDARDSTREAMS_H
#define DLC_TOOLS_COMMANDLINE_STANDARDSTREAMS_H

namespace dlc::tool {

/// To be called first. A standard stream that was closed is opened on nothing, so that no file
/// takes its number; a write over a limit of file size fails instead of ending the process.
void prepareStreams();

/// To be called last: the exit code, 1 instead of 0 if what was written to standard output got
/// lost.
int finishStreams(int exitCode);

} // namespace dlc::tool

#endif
