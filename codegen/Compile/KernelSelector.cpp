//===- KernelSelector.cpp - candidates, their order, identity of a choice ---------------------===//
#include "codegen/Compile/KernelSelector.h"
#include "codegen/Compile/KernelCache.h"
#include "codegen/Compile/Threads.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

ConvolutionAlgorithm codegen::wantedAlgorithm(const KernelSpec &spec, const Target &target) {
  if (spec.anchor() != Anchor::Convolution)
    return ConvolutionAlgorithm::Heuristic;
  const ConvolutionAlgorithm wish = dl::ConvolutionForm::get(spec.anchorOp()).wishedAlgorithm();
  if (wish != ConvolutionAlgorithm::Heuristic)
    return wish;
  return target.settings.algorithm;
}

/// Bytes besides a kernel's tensors.
static std::optional<uint64_t> workspaceLimit(const KernelSpec &spec, const Target &target) {
  if (spec.anchor() == Anchor::Convolution)
    if (dl::WishAttr wish = dl::ConvolutionForm::get(spec.anchorOp()).wish)
      if (std::optional<int64_t> bytes = wish.getWorkspace())
        return *bytes;
  return target.settings.workspaceLimit;
}

/// Takes out those of which a launch would have more tasks than it can; says so if there are any.
static std::string dropTooMany(std::vector<GeneratedCandidate> &all) {
  uint64_t most = 0;
  llvm::erase_if(all, [&](const GeneratedCandidate &one) {
    uint64_t tasks = 0;
    for (const Phase &phase : one.candidate.phases)
      tasks = std::max(tasks, phase.tasks);
    most = std::max(most, tasks);
    return tasks > mostTasks;
  });
  return most > mostTasks
             ? llvm::formatv("it would be {0} tasks, and a launch has {1} at most", most, mostTasks)
                   .str()
             : "";
}

/// Leaves only those of the algorithm, if there are any.
static void keepAlgorithm(std::vector<GeneratedCandidate> &all, ConvolutionAlgorithm algorithm) {
  auto wanted = [&](const GeneratedCandidate &one) { return one.candidate.algorithm == algorithm; };
  if (llvm::any_of(all, wanted))
    llvm::erase_if(all, [&](const GeneratedCandidate &one) { return !wanted(one); });
}

static bool callsLibrary(const Candidate &candidate) {
  return llvm::any_of(candidate.phases, [](const Phase &phase) { return bool(phase.call); });
}

/// Measured seconds take the place of estimates, and the one to take stands in front.
static void applyMeasured(std::vector<GeneratedCandidate> &all, const PinnedKernel &measured) {
  for (GeneratedCandidate &one : all)
    if (auto known = measured.seconds.find(one.name()); known != measured.seconds.end()) {
      one.candidate.cost = known->second.all;
      one.candidate.handicap = 0;
      if (one.candidate.preparation)
        one.candidate.preparation->seconds = known->second.preparing;
    }
  for (GeneratedCandidate &one : all)
    one.pinnedPrepared = one.name() == measured.chosenPrepared;
  auto isChosen = [&](const GeneratedCandidate &one) { return one.name() == measured.chosen; };
  if (auto chosen = llvm::find_if(all, isChosen); chosen != all.end()) {
    chosen->pinned = true;
    std::rotate(all.begin(), chosen, std::next(chosen));
  }
}

KernelSelector::KernelSelector(std::shared_ptr<const Target> target, PinnedChoices pinned)
    : generatedFor(std::move(target)), pinned(std::move(pinned)),
      identity(generatedFor->identity()) {}

void KernelSelector::ask(const KernelSpec &spec, KernelOffer &offer) const {
  offer.code = spec.sizelessText().value_or(offer.text);
  offer.stem = spec.stem();
  offer.flops = spec.flops();
  offer.bytes = spec.bytes();
  std::vector<GeneratedCandidate> &all = offer.candidates;
  all = target().candidates(spec);
  const std::string tooMany = dropTooMany(all);
  if (llvm::all_of(all, [](const auto &one) { return one.candidate.isSlow; }))
    offer.refusal = tooMany.empty() ? target().refusal(spec) : tooMany;
  const ConvolutionAlgorithm wanted = wantedAlgorithm(spec, target());
  auto hasWanted = [&] {
    return llvm::any_of(
        all, [&](const GeneratedCandidate &one) { return one.candidate.algorithm == wanted; });
  };
  const bool wasThere = hasWanted();
  if (std::optional<uint64_t> limit = workspaceLimit(spec, target()))
    target().keepWithin(all, *limit);
  offer.lacksWorkspace = wasThere && !hasWanted();
  keepAlgorithm(all, wanted);
  if (wanted == ConvolutionAlgorithm::Heuristic)
    target().keepProvider(all);
  auto rank = [](const GeneratedCandidate &one) {
    return std::tuple(!callsLibrary(one.candidate), one.candidate.cost, one.generator->name(),
                      StringRef(one.candidate.schedule));
  };
  llvm::sort(all, [&](const GeneratedCandidate &a, const GeneratedCandidate &b) {
    return rank(a) < rank(b);
  });
  if (const PinnedKernel *measured = pinned ? pinned(offer.text) : nullptr)
    applyMeasured(all, *measured);
}

KernelSelector::Answer &KernelSelector::answerTo(StringRef text) {
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<Answer> &answer = answers[text];
  if (!answer)
    answer = std::make_unique<Answer>();
  return *answer;
}

const KernelOffer &KernelSelector::offer(const KernelSpec &spec, StringRef text) {
  Answer &answer = answerTo(text);
  std::call_once(answer.asked, [&] {
    answer.offer.text = text.str();
    ask(spec, answer.offer);
  });
  return answer.offer;
}

const KernelOffer &KernelSelector::offer(const KernelSpec &spec) {
  return offer(spec, spec.canonicalText());
}

/// Each thread has a context of its own: that of the caller need not be made for threads.
void KernelSelector::prepare(ArrayRef<std::string> texts, unsigned threads) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    if (next >= texts.size())
      return;
    DialectRegistry registry;
    registerKernelDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    for (size_t i; (i = next++) < texts.size();)
      if (FailureOr<OwningOpRef<ModuleOp>> module = parseKernel(texts[i], &context);
          succeeded(module))
        if (FailureOr<KernelSpec> spec = KernelSpec::get(kernelBlock(**module)); succeeded(spec))
          offer(*spec, texts[i]);
  };
  runOnThreads(threads, texts.size(), work);
}

std::vector<const KernelOffer *> KernelSelector::offers() const {
  std::vector<const KernelOffer *> all;
  for (const auto &answer : answers)
    all.push_back(&answer.second->offer);
  llvm::sort(all, [](const KernelOffer *a, const KernelOffer *b) { return a->text < b->text; });
  return all;
}

SelectedKernel KernelSelector::select(const KernelOffer &offer,
                                      const GeneratedCandidate &choice) const {
  SelectedKernel kernel;
  kernel.generator = choice.generator;
  kernel.candidate = choice.candidate;
  kernel.text = offer.text;
  kernel.code = offer.code;
  kernel.flops = offer.flops;
  kernel.bytes = offer.bytes;
  kernel.key = hashText(identity + '\0' + choice.generator->name().str() + '\0' +
                        choice.candidate.schedule + '\0' + offer.code);
  kernel.symbol = offer.stem + "_" + hexadecimal(ArrayRef<uint8_t>(kernel.key).take_front(4));
  for (unsigned phase = 0; phase < kernel.candidate.phases.size(); ++phase)
    kernel.symbols.push_back(phaseSymbol(kernel.symbol, kernel.candidate, phase));
  return kernel;
}

FailureOr<SelectedKernel> KernelSelector::select(Block &block, program::CandidateAttr chosen) {
  FailureOr<KernelSpec> spec = KernelSpec::get(block);
  if (failed(spec))
    return failure();
  const KernelOffer &known = offer(*spec);
  const std::vector<GeneratedCandidate> &all = known.candidates;
  if (all.empty())
    return emitError(block.back().getLoc(), "no generator takes this kernel, ")
               << known.stem << ": " << known.refusal,
           failure();
  auto found = !chosen ? all.begin() : llvm::find_if(all, [&](const GeneratedCandidate &each) {
    return each.isOf(chosen);
  });
  if (found == all.end())
    return emitError(block.back().getLoc(), "no generator offers '")
               << chosen.describe() << "' for this kernel",
           failure();
  return select(known, *found);
}

std::optional<SelectedKernel> KernelSelector::selectAlternative(const SelectedKernel &choice) {
  if (!callsLibrary(choice.candidate))
    return std::nullopt;
  const KernelOffer &known = answerTo(choice.text).offer;
  for (const GeneratedCandidate &candidate : known.candidates)
    if (!callsLibrary(candidate.candidate))
      return select(known, candidate);
  return std::nullopt;
}
