// The entries of inference: one for each size of batch.
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

void SectionCompiler::compileInfer(const Section *section, llvm::ArrayRef<ModelUse> uses,
                                   const std::string &name) {
  std::vector<int64_t> batches;
  Dimensions bound = dimensions;
  if (!inferBatches(section, uses, batches, bound))
    return;
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
    run.addResults();
    entry.finish();
    if (program.engine.hasErrors())
      return;
  }
  if (section)
    warnUnreadFields(program, *section, uses);
}

} // namespace dlc::frontend
