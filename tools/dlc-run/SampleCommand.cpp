// dlc-run sample: a text drawn from a language model, behind the prompt, as it is drawn.
#include "dlc/run.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Vocabulary.h"
#include "runtime/Training/Sampler.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"

namespace dlc::runtime::tool {
namespace {

/// The numbers in front of what is drawn.
Result<std::vector<int32_t>> promptOf(const SampleFlags &flags, const Vocabulary &vocabulary) {
  Result<std::vector<int32_t>> prompt = vocabulary.encode(flags.prompt);
  if (!prompt.ok())
    return prompt.takeStatus().in("--prompt");
  std::vector<int32_t> numbers = prompt.take();
  if (numbers.empty() && vocabulary.beginning())
    numbers.push_back(*vocabulary.beginning());
  if (numbers.empty())
    return invalid("--prompt is needed: ", flags.data, " has nothing that a text begins with");
  return numbers;
}

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

} // namespace

Status sample(const SampleFlags &flags) {
  DLC_TRY_ASSIGN(vocabulary, openVocabulary(flags.data));
  DLC_TRY_ASSIGN(prompt, promptOf(flags, *vocabulary));
  DLC_TRY_ASSIGN(run, Run::open({.module = flags.module,
                                 .device = flags.device,
                                 .seed = flags.seed,
                                 .weights = flags.checkpoint,
                                 .log = printLine}));
  DLC_TRY_ASSIGN(sampler, Sampler::create(*run, vocabulary->size(), vocabulary->rareShareLast(),
                                          {.entry = flags.entry,
                                           .temperature = flags.temperature,
                                           .topK = flags.topK,
                                           .seed = flags.seed.value_or(0)}));
  DLC_TRY(noteWeights(run->module()->plan(), flags.checkpoint, "texts"));
  for (const int32_t number : prompt)
    DLC_TRY(sampler->add(number));
  if (!flags.json)
    write(flags.prompt);
  std::string text = flags.prompt;
  int32_t before = prompt.back();
  for (uint64_t i = 0; i < flags.length; ++i) {
    DLC_TRY_ASSIGN(drawn, sampler->next());
    const std::string piece = vocabulary->decode(drawn.number, before);
    before = drawn.number;
    text += piece;
    if (flags.json)
      printJson({{"token", drawn.number}, {"text", piece}, {"probability", drawn.probability}});
    else
      write(piece);
  }
  if (flags.json)
    printJson({{"text", text}, {"tokens", flags.length}, {"summary", true}});
  else if (!text.ends_with('\n'))
    write("\n");
  return {};
}

} // namespace dlc::runtime::tool
