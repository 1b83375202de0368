// The entries of inference: one for each size of batch. What a model computes by itself, whichever
// entries use it.
#include "dialects/DL/Ops/DLEntryOps.h"
#include "frontend/DL/Sections/Operations.h"
#include "frontend/DL/Sections/SectionRun.h"

namespace dlc::frontend {

using namespace ast;

/// An infer section of another train section's model is not for this module; one of no train
/// section would be lost without a word.
void SectionCompiler::checkTrainedSomewhere(const Section &section) {
  for (const Use &use : section.uses) {
    bool isTrained = llvm::any_of(main.tree->sections, [&](const Section *other) {
      return other->isTrain && llvm::any_of(other->uses, [&](const Use &each) {
               return each.model.text == use.model.text;
             });
    });
    if (!isTrained)
      program.engine
          .error(use.model.range, "no train section has the model '" + use.model.text + "'")
          .hint("an infer section uses what a train section has trained");
  }
}

/// What an infer section says, or else the flag, or else what the model trains in.
static DType inferPrecision(Program &program, const Section *section, SectionRun &run,
                            DType trained) {
  auto lookup = [&](llvm::StringRef setting) {
    return section && setting == "precision" ? run.lookup(setting) : nullptr;
  };
  checkSettings(run.evaluator, lookup);
  const Bound *bound = lookup("precision");
  if (const DType *own = bound ? bound->value.getIf<DType>() : nullptr)
    return *own;
  const std::string &flag = program.options.inferPrecision;
  return flag.empty() ? trained : parseDType(flag);
}

void SectionCompiler::compileInfer(const Section *section, llvm::ArrayRef<ModelUse> uses,
                                   const std::string &name) {
  std::vector<int64_t> batches;
  Dimensions bound = dimensions;
  if (!inferBatches(section, uses, batches, bound))
    return;
  if (trainUses.empty())
    noteModels(uses, bound);
  for (int64_t batch : batches) {
    bound["N"] = batch;
    std::string entryName = name + "_n" + std::to_string(batch);
    SourceRange range = section ? section->range : uses.front().block->name.range;
    if (!claimEntry(entryName, range, "infer ... as NAME"))
      return;
    Evaluator places(program, nullptr);
    EntryBuilder entry(module, entryName, program::EntryKind::Infer, batch,
                       places.location(entryName, range));
    SectionRun run(program, main, entry, bound, uses, section);
    run.run();
    entry.setPrecision(
        elementType(inferPrecision(program, section, run, precision), &program.context));
    run.addResults();
    entry.finish();
    if (program.engine.hasErrors())
      return;
  }
  if (section)
    warnUnreadFields(program, *section, uses);
}

void SectionCompiler::noteModels(llvm::ArrayRef<ModelUse> uses, const Dimensions &sizes) {
  for (const ModelUse &use : uses)
    if (llvm::none_of(models, [&](const auto &each) { return each.first.block == use.block; }))
      models.emplace_back(use, sizes);
}

/// What a model computes where it is called by itself; nothing if it cannot be with these sizes.
std::optional<std::string> SectionCompiler::describeModel(const ModelUse &use,
                                                          const Dimensions &sizes) {
  DiagnosticEngine::Trial trial(program.engine);
  mlir::OwningOpRef<mlir::ModuleOp> aside(mlir::ModuleOp::create(module.getLoc()));
  EntryBuilder entry(*aside, use.block->name.text, program::EntryKind::Infer, sizes.at("N"),
                     module.getLoc());
  SectionRun run(program, main, entry, sizes, use, nullptr);
  run.run();
  if (trial.hasFailed())
    return std::nullopt;
  run.addResults();
  entry.finish();
  return trial.hasFailed() ? std::nullopt : std::optional(describeOperations(entry.entry()));
}

/// Each model is evaluated once more, called by itself and, where it can be, with the same sizes of
/// symbolic dimensions in every file, so that what sections make of it has no part in it: a mean
/// divides by a size. A model that needs a section around it has no such description.
void SectionCompiler::writeOperations() {
  constexpr int64_t samples = 1, others = 8;
  std::set<std::string> texts;
  for (const auto &[use, sizes] : models) {
    Dimensions own = sizes, common;
    own["N"] = common["N"] = samples;
    for (const auto &each : sizes)
      common.try_emplace(each.getKey(), others);
    std::optional<std::string> text = describeModel(use, common);
    if (!text)
      text = describeModel(use, own);
    if (!text)
      return;
    texts.insert(*text);
  }
  recordOperations(module, texts);
}

} // namespace dlc::frontend
