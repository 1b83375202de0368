// The variables that the entries of a file share.
#include "dialects/DL/Ops/DLVariableOps.h"
#include "frontend/DL/Sections/Sections.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

/// A weight that costs memory in every checkpoint and never learns is likely a slip.
void SectionCompiler::warnUntrained() {
  for (const auto &variable : program.variables)
    if (variable->role == program::Role::Parameter && !variable->isTrained &&
        !variable->settings.frozen)
      program.engine.warning(variable->range, "the weight '" + variable->key + "' is never trained")
          .hint(variable->isInALoss
                    ? "a loss depends on it, but no step updates it; frozen = true says so"
                    : "no loss depends on it; frozen = true keeps it as it is");
}

/// One of several models; a single one is called by itself, or the loss depends on no parameter.
void SectionCompiler::warnUncalled(const Section &section) {
  if (trainUses.size() < 2 || program.engine.hasErrors())
    return;
  for (auto [use, node] : llvm::zip_equal(trainUses, section.uses)) {
    bool hasWeights = llvm::any_of(program.variables, [&](const auto &variable) {
      return llvm::StringRef(variable->key).starts_with(use.prefix + ".");
    });
    if (!hasWeights && !mentions(section, node.model.text))
      program.engine
          .warning(node.model.range,
                   "the model '" + node.model.text + "' is listed and nothing trains it")
          .hint("no line of the section calls " + node.model.text.str() + "(...)");
  }
}

/// Names that a module cannot hold beside each other: those of entries, and a weight inside a
/// weight, where the optimizer's own tensors are.
void SectionCompiler::checkVariableNames() {
  for (const auto &variable : program.variables) {
    llvm::StringRef key = variable->key;
    if (auto entry = entryNames.find(key); entry != entryNames.end())
      program.engine.error(variable->range, "the weight name '" + key + "' is that of an entry");
    for (llvm::StringRef outer = key.rsplit('.').first; outer != key;
         key = outer, outer = key.rsplit('.').first)
      if (const Variable *other = program.variableByKey.lookup(outer))
        program.engine
            .error(variable->range,
                   "the weight name '" + variable->key + "' lies inside the weight '" + outer + "'")
            .note(other->range, "that one is made here");
  }
  for (const StateVariable &state : program.states)
    if (const Variable *other = program.variableByKey.lookup(state.name))
      program.engine.error(state.range, "the state '" + state.name + "' has the name of a weight")
          .note(other->range, "that one is made here");
}

void SectionCompiler::writeVariables() {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  bool trains = llvm::any_of(program.variables, [](const auto &each) { return each->isTrained; });
  for (const auto &variable : program.variables) {
    auto op =
        dl::VariableOp::create(builder, variable->location, builder.getStringAttr(variable->key),
                               mlir::TypeAttr::get(variable->type),
                               program::RoleAttr::get(builder.getContext(), variable->role),
                               variable->init, mlir::FlatSymbolRefAttr());
    std::string training = llvm::join(variable->training, " or ");
    if (trains && variable->role == program::Role::Parameter && !variable->isTrained)
      training = variable->settings.frozen ? "frozen" : "not trained";
    if (!training.empty())
      op->setAttr("dl.training", builder.getStringAttr(training));
  }
  for (const StateVariable &state : program.states)
    dl::VariableOp::create(builder, state.location, builder.getStringAttr(state.name),
                           mlir::TypeAttr::get(state.type),
                           program::RoleAttr::get(builder.getContext(), program::Role::State),
                           state.init, mlir::FlatSymbolRefAttr());
}

} // namespace dlc::frontend
