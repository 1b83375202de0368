// The machines of a job: who they are, how many ranks each takes, and which of them answer.
#ifndef DLC_TOOLS_DLC_RUN_HOSTS_H
#define DLC_TOOLS_DLC_RUN_HOSTS_H

#include "dlc/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime::tool {

struct Host {
  std::string name;
  /// How many ranks it takes before others take more than they have slots for.
  unsigned slots = 1;
};

/// "A:4,B": as mpirun's --host has them. One that is named again has the slots of both.
Result<std::vector<Host>> parseHosts(std::string_view text);

/// A file with a host in a line, as Open MPI writes it (`A slots=4`) or MPICH (`A:4`); what stands
/// behind # is a comment. Failures name the file and the line.
Result<std::vector<Host>> readHostFile(const std::string &path);

/// "A:4,B:1"
std::string hostList(const std::vector<Host> &hosts);
unsigned slotsOf(const std::vector<Host> &hosts);

/// Whether a host has an address of this machine.
bool isThisMachine(const std::string &host);

/// Of these hosts those that answer: this machine, and where `agent`, a command line without the
/// host, can run a program. All are asked at once. Where the agent cannot be started all count.
std::vector<Host> answeringHosts(const std::vector<Host> &hosts,
                                 const std::vector<std::string> &agent);

} // namespace dlc::runtime::tool

#endif
