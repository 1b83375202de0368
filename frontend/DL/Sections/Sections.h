// Train and infer sections: from the evaluated bindings to entries.
#ifndef DLC_FRONTEND_DL_SECTIONS_SECTIONS_H
#define DLC_FRONTEND_DL_SECTIONS_SECTIONS_H

#include "frontend/DL/Evaluation/Evaluator.h"

#include "llvm/ADT/StringSet.h"

namespace dlc::frontend {

/// A model that a section lists, with the values of its settings.
struct ModelUse {
  const ast::Block *block = nullptr;
  Module *module = nullptr;
  std::string prefix;
  llvm::StringMap<Value> settings;
};

/// Values of symbolic dimensions, N among them.
using Dimensions = llvm::StringMap<int64_t>;

/// A `parameters` group of a train section, its settings evaluated.
struct ParameterGroup {
  const ast::GroupStatement *node;
  std::vector<Value> settings;
};

// ---- Settings.cpp

/// The compile-time bindings of a section: what can be known before the model is evaluated.
llvm::StringMap<Bound> evaluateSettings(Program &program, Module &module,
                                        const ast::Section &section);
/// Names of dimensions in the types of the models and of the fields of `section`, which may be
/// null, that nothing else binds.
void collectDimensions(const Module &module, const ast::Section *section,
                       llvm::ArrayRef<ModelUse> uses, llvm::StringMap<SourceRange> &names);
/// Is the name called or piped into anywhere in the section?
bool mentions(const ast::Section &section, llvm::StringRef name);
/// Warns of fields that nothing reads: neither the section nor a model that is called by itself.
void warnUnreadFields(Program &program, const ast::Section &section, llvm::ArrayRef<ModelUse> uses);
/// Reports names that are bound and never read.
void checkUnusedNames(Program &program, const ast::Section &section,
                      const llvm::StringMap<SourceRange> &dimensions);
/// Reports settings whose value is none that they take.
void checkSettings(Evaluator &evaluator, llvm::function_ref<const Bound *(llvm::StringRef)> lookup);
/// Of the section; a step has some of its own.
llvm::ArrayRef<llvm::StringLiteral> settingNames(bool isTrain);
/// An example of what a setting of a train section takes, for those that are no plan.
llvm::StringRef valueOfSetting(llvm::StringRef name);
/// What a `parameters` group sets.
llvm::ArrayRef<llvm::StringLiteral> groupSettingNames();
/// The last binding of a name in a body, steps inside it left out.
const ast::BindingStatement *findBinding(ast::Body body, llvm::StringRef name);

// ---- Groups.cpp

/// Writes the settings of the groups into the variables they match; `inStep`: they stand in a step.
void applyGroups(Evaluator &evaluator, llvm::ArrayRef<ParameterGroup> groups, bool inStep);
/// The variables that a pattern names; an error if there are none.
std::vector<Variable *> matchVariables(Evaluator &evaluator, const ast::PatternString &pattern);
/// "**" any parts, "*" within a part.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef key);

// ---- Schedules.cpp

/// The parts of a step's schedule; null for the constant one, and after an error. `section` says
/// what evaluations yield.
mlir::ArrayAttr scheduleAttribute(Evaluator &evaluator, const ast::Section &section,
                                  const Bound &schedule);

// ---- Sections.cpp

class SectionCompiler {
public:
  SectionCompiler(Program &program, Module &main, mlir::ModuleOp module)
      : program(program), main(main), module(module),
        precision(parseDType(program.options.precision)) {}
  /// Builds all entries and the variables.
  void run();

private:
  const ast::Section *chooseTrain();
  /// False, with an error, if another section of the kind has the name.
  bool claimSection(llvm::StringRef name, const ast::Section &section);
  bool claimEntry(const std::string &name, SourceRange range, llvm::StringRef hint);
  void checkModels();
  void writeDescription();

  // ---- Models.cpp
  bool resolveUses(const ast::Section &section, bool takesSettings, std::vector<ModelUse> &uses);
  bool resolveSettings(ModelUse &use, llvm::ArrayRef<ast::Argument> arguments);

  // ---- Dimensions.cpp
  bool bindDimensions(const ast::Section &section);
  /// Binds those of a model that no section uses, as -D says; false after an error.
  bool defineDimensions(const ModelUse &use);
  /// Binds a dimension as -D says, or else `settings`, if one of them does; false after an error.
  bool readDimension(llvm::StringRef name, const llvm::StringMap<Bound> &settings,
                     Dimensions &bound);
  bool checkBatchAxis(const ast::Section &section, const llvm::StringMap<SourceRange> &names);
  bool checkInputsHaveBatch(const ast::Section &section);
  std::string hintForDefine(llvm::StringRef name);
  void checkDefines();
  bool inferBatches(const ast::Section *section, llvm::ArrayRef<ModelUse> uses,
                    std::vector<int64_t> &batches, Dimensions &bound);

  // ---- Train.cpp
  struct TrainEntry;
  void compileTrain(const ast::Section &section);
  std::unique_ptr<TrainEntry> evaluateTrain(const ast::Section &section,
                                            const ast::StepStatement *step);
  void readAccumulate(TrainEntry &entry);
  void finishTrain(TrainEntry &entry, const ast::Section &section);
  void compileEvaluate(const ast::Section &section);
  void readPatterns(const ast::Section &section);

  // ---- Infer.cpp
  void compileInfer(const ast::Section *section, llvm::ArrayRef<ModelUse> uses,
                    const std::string &name);
  void checkTrainedSomewhere(const ast::Section &section);
  void noteModels(llvm::ArrayRef<ModelUse> uses, const Dimensions &sizes);
  std::optional<std::string> describeModel(const ModelUse &use, const Dimensions &sizes);
  void writeOperations();

  // ---- Variables.cpp
  void warnUntrained();
  void warnUncalled(const ast::Section &section);
  void checkVariableNames();
  void writeVariables();

  Program &program;
  Module &main;
  mlir::ModuleOp module;
  std::vector<ModelUse> trainUses;
  /// The models of the file's entries, each once, with the sizes that its dimensions have where it
  /// is listed first.
  std::vector<std::pair<ModelUse, Dimensions>> models;
  /// What the train section binds, by -D or not.
  Dimensions dimensions;
  /// What the train section's entries compute in, and inference where nothing else is said.
  DType precision;
  /// Those of all sections, bound or not.
  llvm::StringSet<> dimensionNames;
  llvm::StringMap<SourceRange> entryNames, sectionNames;
};

} // namespace dlc::frontend

#endif
