// Priorities with change points.
#include "runtime/Device/SIMT/Schedule.h"

#include <algorithm>
#include <numeric>

namespace dlc::runtime {

std::vector<size_t> adversarialOrder(const std::vector<OrderedCommand> &commands,
                                     std::mt19937_64 &random) {
  std::vector<std::vector<size_t>> streams;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].stream >= streams.size())
      streams.resize(commands[i].stream + 1);
    streams[commands[i].stream].push_back(i);
  }
  std::vector<size_t> priority(streams.size()), next(streams.size(), 0);
  std::iota(priority.begin(), priority.end(), 0);
  std::shuffle(priority.begin(), priority.end(), random);
  std::vector<size_t> changes(random() % 3);
  for (size_t &change : changes)
    change = random() % std::max<size_t>(commands.size(), 1);

  std::vector<bool> done(commands.size(), false);
  auto ready = [&](size_t stream) {
    if (next[stream] == streams[stream].size())
      return false;
    const size_t awaited = commands[streams[stream][next[stream]]].waitsFor;
    return awaited == OrderedCommand::none || done[awaited];
  };
  std::vector<size_t> order;
  while (order.size() < commands.size()) {
    // There is one: of the commands left, the first in table order waits for none of the others.
    const auto chosen = std::find_if(priority.begin(), priority.end(), ready);
    const size_t command = streams[*chosen][next[*chosen]++];
    order.push_back(command);
    done[command] = true;
    if (std::find(changes.begin(), changes.end(), order.size()) != changes.end())
      std::rotate(chosen, chosen + 1, priority.end());
  }
  return order;
}

} // namespace dlc::runtime
