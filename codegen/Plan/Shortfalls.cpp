//===- Shortfalls.cpp - see Shortfalls.h ------------------------------------------------------===//
#include "codegen/Plan/Shortfalls.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dialects/Exec/Memory.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;

namespace dlc::codegen {

llvm::StringMap<llvm::SetVector<StringRef>> findLayers(ModuleOp module) {
  llvm::StringMap<llvm::SetVector<StringRef>> layers;
  module.walk([&](exec::LaunchOp launch) {
    if (launch.getPart() != exec::Part::Preparation)
      layers[launch.getKernel()].insert(exec::getRecordName(launch.getLoc()));
  });
  return layers;
}

/// The offer that runs a kernel. Null if no generator makes it.
static const GeneratedCandidate *findChosen(exec::KernelOp kernel, const KernelOffer &offer) {
  program::CandidateAttr chosen = kernel.getCandidateAttr();
  auto found = llvm::find_if(
      offer.candidates, [&](const GeneratedCandidate &one) { return chosen && one.isOf(chosen); });
  return found == offer.candidates.end() ? nullptr : &*found;
}

//===------------------------------------------------------------------------------------------===//
// What was asked for
//===------------------------------------------------------------------------------------------===//

/// Why a convolution has not the algorithm that it is wanted to have; empty if it has.
static std::string algorithmRefusal(const KernelSpec &spec, ConvolutionAlgorithm wanted,
                                    const KernelOffer &offer, const Target &target) {
  if (offer.lacksWorkspace)
    return "it needs more workspace than it may have";
  if (offer.candidates.front().candidate.algorithm == wanted)
    return "";
  return target.refusal(spec, wanted);
}

/// An algorithm, or the generator of what is none.
static std::string describeCode(const GeneratedCandidate *chosen) {
  if (!chosen)
    return "other code";
  return chosen->candidate.algorithm
             ? dl::stringifyConvolutionAlgorithm(*chosen->candidate.algorithm).str()
             : chosen->generator->name().str();
}

std::vector<Fallback> findFallbacks(ModuleOp module, KernelSelector &selector) {
  const Target &target = selector.target();
  std::vector<Fallback> all;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelSpec> spec = KernelSpec::get(kernel.getBlock());
    if (failed(spec) || spec->anchor() != Anchor::Convolution)
      continue;
    const ConvolutionAlgorithm wanted = wantedAlgorithm(*spec, target);
    if (wanted != ConvolutionAlgorithm::Heuristic) {
      const KernelOffer &offer = selector.offer(*spec);
      if (std::string refusal = algorithmRefusal(*spec, wanted, offer, target); !refusal.empty())
        all.push_back({kernel, dl::stringifyConvolutionAlgorithm(wanted).str(),
                       describeCode(findChosen(kernel, offer)), refusal});
    }
    if (std::string refusal = target.layoutRefusal(*spec); !refusal.empty())
      all.push_back({kernel,
                     target.settings.layout == ImageLayout::Blocks ? "nchw16c" : "channels-last",
                     "row-major", refusal});
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Code that is fast
//===------------------------------------------------------------------------------------------===//

std::vector<SlowKernel> findSlowKernels(ModuleOp module, KernelSelector &selector,
                                        ArrayRef<SelectedKernel> selected) {
  if (llvm::none_of(selected, [](const SelectedKernel &one) { return one.candidate.isSlow; }))
    return {};
  llvm::MapVector<Operation *, SlowKernel> slow;
  llvm::DenseMap<Operation *, double> handicaps;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelSpec> spec = KernelSpec::get(kernel.getBlock());
    if (failed(spec))
      continue;
    const KernelOffer &offer = selector.offer(*spec);
    const GeneratedCandidate *chosen = findChosen(kernel, offer);
    handicaps[kernel] = chosen ? chosen->candidate.handicap : 0;
    if (chosen && chosen->candidate.isSlow)
      slow[kernel] = {kernel, chosen->pinned ? "the plan says so" : offer.refusal, {}, 0};
  }
  /// By the reason: the entry in which it costs the most.
  std::map<std::string, std::pair<double, exec::ProgramOp>> worst;
  const SymbolTable symbols(module);
  for (auto entry : module.getOps<exec::ProgramOp>()) {
    std::map<std::string, double> seconds;
    double all = 0;
    for (auto launch : entry.getBlock().getOps<exec::LaunchOp>()) {
      auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
      const double taken = launch.getSeconds(kernel) - handicaps.lookup(kernel);
      all += taken;
      if (auto found = slow.find(kernel); found != slow.end())
        seconds[found->second.reason] += taken;
    }
    for (const auto &[reason, taken] : seconds)
      if (auto &[most, of] = worst[reason]; taken / all > most)
        std::tie(most, of) = std::pair(taken / all, entry);
  }
  const double worthSaying = 0.01;
  std::vector<SlowKernel> all;
  for (auto &[op, kernel] : slow) {
    std::tie(kernel.share, kernel.entry) = worst[kernel.reason];
    if (kernel.share > worthSaying)
      all.push_back(kernel);
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Warnings
//===------------------------------------------------------------------------------------------===//

namespace {
/// What is to be said once, of all kernels that it is true of.
class Warnings {
public:
  explicit Warnings(ModuleOp module) : module(module), layers(findLayers(module)) {}

  /// "conv1, conv2, conv3 and 4 more: " stands in front of `text`.
  void add(exec::KernelOp kernel, const std::string &text) {
    auto known = llvm::find_if(said, [&](const auto &one) { return one.first == text; });
    if (known == said.end())
      known = said.insert(known, {text, {}});
    known->second.insert_range(layers[kernel.getSymName()]);
  }
  void emit();

private:
  ModuleOp module;
  llvm::StringMap<llvm::SetVector<StringRef>> layers;
  std::vector<std::pair<std::string, llvm::SetVector<StringRef>>> said; ///< texts, their layers
};
} // namespace

/// "conv1, conv2, conv2/backward_filter and 4 more"
static std::string listLayers(ArrayRef<StringRef> layers) {
  const size_t most = 3, shown = layers.size() > most + 1 ? most : layers.size();
  std::string text = llvm::join(layers.take_front(shown), ", ");
  return shown == layers.size() ? text
                                : text + " and " + std::to_string(layers.size() - shown) + " more";
}

/// Directions of a layer have one place in the source, where what is said of the first has the
/// others for notes: of one place there is one warning.
void Warnings::emit() {
  llvm::StringMap<Location> places; ///< of the layers' first launches
  module.walk([&](exec::LaunchOp launch) {
    places.try_emplace(exec::getRecordName(launch.getLoc()), launch.getLoc());
  });
  llvm::MapVector<Attribute, SmallVector<std::string>> textsAt;
  for (const auto &[text, named] : said) {
    if (named.empty())
      continue;
    const Location place = places.at(named.front());
    LocationAttr inSource = place->findInstanceOf<FileLineColLoc>();
    textsAt[inSource ? inSource : LocationAttr(place)].push_back(listLayers(named.getArrayRef()) +
                                                                 ": " + text);
  }
  for (const auto &[place, texts] : textsAt) {
    InFlightDiagnostic warning = emitWarning(cast<LocationAttr>(place)) << texts.front();
    for (const std::string &text : ArrayRef(texts).drop_front())
      warning.attachNote() << text;
  }
}

void warnOfShortfalls(ModuleOp module, KernelSelector &selector,
                      ArrayRef<SelectedKernel> selected) {
  Warnings warnings(module);
  for (const Fallback &fallback : findFallbacks(module, selector))
    warnings.add(fallback.kernel,
                 fallback.taken + ", not " + fallback.wanted + ": " + fallback.reason);
  for (SlowKernel &slow : findSlowKernels(module, selector, selected))
    warnings.add(slow.kernel,
                 llvm::formatv("plain loops, {0:F0}% of {1}'s estimated time: {2}",
                               100 * slow.share, slow.entry.getSymName(), slow.reason));
  warnings.emit();
}

} // namespace dlc::codegen
