// Clocks that are compared, and spans that travel to rank 0.
#include "runtime/Collectives/RankTimelines.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

/// Rank 0 notes its clock, sends a byte, and notes its clock again when all ranks have answered.
/// In between each rank has read its own clock, so that is the error; the fastest exchange counts.
Result<ClockReading> compareClocks(Transport &ranks, const std::function<int64_t()> &clock) {
  constexpr unsigned exchanges = 16;
  if (ranks.ranks() == 1)
    return ClockReading{clock(), 0, 0};
  struct Exchange {
    int64_t sent, answered;
  };
  std::vector<Exchange> ofRank0(exchanges);
  std::vector<int64_t> own(exchanges);
  std::vector<std::byte> answers(ranks.ranks());
  for (unsigned i = 0; i < exchanges; ++i) {
    std::byte question{};
    ofRank0[i].sent = clock();
    DLC_TRY(ranks.broadcast(std::span(&question, 1)));
    own[i] = clock();
    DLC_TRY(ranks.run({Collective::Kind::Gather, controlChannel, DLC_U8, answers}));
    ofRank0[i].answered = clock();
  }
  DLC_TRY(ranks.broadcast(std::as_writable_bytes(std::span(ofRank0))));
  const auto fastest = std::ranges::min_element(
      ofRank0, {}, [](const Exchange &exchange) { return exchange.answered - exchange.sent; });
  const int64_t half = (fastest->answered - fastest->sent) / 2;
  const int64_t at = own[static_cast<size_t>(fastest - ofRank0.begin())];
  if (ranks.rank() == 0)
    return ClockReading{at, 0, 0};
  return ClockReading{at, at - (fastest->sent + half), half};
}

int64_t timeOfRank0(int64_t time, const ClockReading &first, const ClockReading &last) {
  const double drift = first.at == last.at ? 0
                                           : static_cast<double>(last.ahead - first.ahead) /
                                                 static_cast<double>(last.at - first.at);
  return time - first.ahead - static_cast<int64_t>(drift * static_cast<double>(time - first.at));
}

/// The bytes of all ranks, on rank 0; in pieces, as a gather takes a limited number at once.
static Result<std::vector<std::string>> gatherOnRank0(Transport &ranks, std::string_view mine) {
  constexpr uint64_t piece = uint64_t(1) << 20;
  std::vector<double> sizes(ranks.ranks(), 0);
  sizes[ranks.rank()] = static_cast<double>(mine.size());
  DLC_TRY(ranks.sum(sizes));
  const auto longest = static_cast<uint64_t>(*std::ranges::max_element(sizes));
  std::vector<std::string> all(ranks.rank() == 0 ? ranks.ranks() : 0);
  for (uint64_t at = 0; at < longest; at += piece) {
    DLC_TRY_ASSIGN(pieces, ranks.gather(mine.substr(std::min<uint64_t>(at, mine.size()), piece)));
    for (size_t rank = 0; rank < all.size(); ++rank)
      all[rank] += pieces[rank];
  }
  return all;
}

Result<std::vector<RankTimeline>> gatherTimelines(Transport &ranks, const Timeline &timeline,
                                                  const ClockReading &first) {
  DLC_TRY_ASSIGN(last, compareClocks(ranks));
  double incomplete = timeline.complete() ? 0 : 1;
  DLC_TRY(ranks.sum(std::span(&incomplete, 1)));
  if (incomplete != 0)
    return failure(StatusCode::OutOfMemory, "no memory for the trace; fewer `steps` need less");
  std::vector<Span> spans(timeline.spans().begin(), timeline.spans().end());
  for (Span &span : spans) {
    span.begin = timeOfRank0(span.begin, first, last);
    span.end = timeOfRank0(span.end, first, last);
  }
  RankTimeline mine{std::move(spans), ranks.processorSeconds(), std::max(first.error, last.error)};
  if (ranks.ranks() == 1)
    return std::vector{std::move(mine)};
  std::string text(reinterpret_cast<const char *>(&mine.transportSeconds), sizeof(double));
  text.append(reinterpret_cast<const char *>(&mine.error), sizeof(int64_t));
  text.append(reinterpret_cast<const char *>(mine.spans.data()), mine.spans.size() * sizeof(Span));
  DLC_TRY_ASSIGN(texts, gatherOnRank0(ranks, text));
  std::vector<RankTimeline> all;
  for (const std::string &other : texts) {
    constexpr size_t head = sizeof(double) + sizeof(int64_t);
    RankTimeline &one = all.emplace_back();
    std::memcpy(&one.transportSeconds, other.data(), sizeof(double));
    std::memcpy(&one.error, other.data() + sizeof(double), sizeof(int64_t));
    one.spans.resize((other.size() - head) / sizeof(Span));
    std::memcpy(one.spans.data(), other.data() + head, other.size() - head);
  }
  return all;
}

} // namespace dlc::runtime
