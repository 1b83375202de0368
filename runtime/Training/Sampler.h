// Texts drawn from a language model, number by number: the model says how likely each number is
// behind those before it, one is drawn, and stands before the next one.
//
// An entry fits whose one input are numbers, [T, N] or [N, T], and whose first output are scores
// (logits) of what follows each of them, of the same axes and one for the classes. With T of 1 its
// states go on from number to number. Without states it sees the last T numbers, the first of them
// in the first place, and may look at none that is behind the one it is asked for.
//
// Ownership: the run outlives it; its weights are those of the run at each draw. Threads: as Run.
#ifndef DLC_RUNTIME_TRAINING_SAMPLER_H
#define DLC_RUNTIME_TRAINING_SAMPLER_H

#include "dlc/run.h"

namespace dlc::runtime {

struct SampleOptions {
  /// One that infers; empty: the first.
  std::string entry = {};
  /// Scores are divided by it: below 1 likely numbers become more likely. 0: the likeliest one is
  /// taken, the first of equal ones.
  double temperature = 1;
  /// Draw among so many of the likeliest; 0: among all.
  uint64_t topK = 0;
  /// Of the draws: number n is a function of the seed, n and the probabilities.
  uint64_t seed = 0;
};

struct SampledNumber {
  int32_t number;
  /// That it was drawn with, by temperature and top-k; 1 of the likeliest one.
  double probability;
};

class Sampler {
public:
  /// `kinds`: numbers that the text has; those of the model beyond them are never drawn. Sets the
  /// entry's states to 0. Fails where the run has no such entry, or with other numbers than the
  /// model's, unless `rareShareLast` says that those beyond stand for its last one.
  static Result<std::unique_ptr<Sampler>> create(Run &run, uint64_t kinds, bool rareShareLast,
                                                 SampleOptions options);

  /// Puts a number behind all before it, without a draw. One beyond the model's is its last one.
  Status add(int32_t number);
  /// Draws what comes behind the numbers so far, of which there must be one, and adds it. Fails
  /// with Failed where a score is not a number.
  Result<SampledNumber> next();

private:
  Sampler(Run &run, const EntryInfo &entry, SampleOptions options);
  Status prepare(uint64_t kinds, bool rareShareLast);
  Status runStep();
  Result<SampledNumber> draw(std::span<const std::byte> scores);

  Run &run;
  const EntryInfo &entry;
  SampleOptions options;
  uint64_t steps = 0, batch = 0, classes = 0, drawable = 0;
  bool carries = false;
  /// Of the input, between two steps of the first sample.
  uint64_t stride = 0;
  uint64_t drawn = 0;
  /// The last ones; with states those that the model has not seen.
  std::vector<int32_t> numbers;
  std::vector<int32_t> input;
  std::vector<std::byte> output;
  std::vector<std::pair<double, int32_t>> candidates;
};

} // namespace dlc::runtime

#endif
