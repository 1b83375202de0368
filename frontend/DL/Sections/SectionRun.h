// One evaluation of a section: its models and body, for one entry.
#ifndef DLC_FRONTEND_DL_SECTIONS_SECTIONRUN_H
#define DLC_FRONTEND_DL_SECTIONS_SECTIONRUN_H

#include "dialects/DL/Builders/TrainingBuilder.h"
#include "frontend/DL/Sections/Sections.h"

namespace dlc::frontend {

class SectionRun {
public:
  /// `section` may be null: the results of the only model are what an entry without a section
  /// returns.
  /// With a `step` this is its entry: the section's bindings, then the step's body.
  SectionRun(Program &program, Module &module, EntryBuilder &entry, const Dimensions &dimensions,
             llvm::ArrayRef<ModelUse> uses, const ast::Section *section,
             const ast::StepStatement *step = nullptr);

  /// Declares inputs and evaluates everything. Errors are reported; go on only if there are none.
  void run();
  /// Gives the loss and the metrics to what builds the entry's training.
  void addMetrics(dl::TrainingBuilder &training);
  /// What the model returns, if the section calls it by itself: an output of every entry, so that a
  /// training step can be looked into and an evaluation keeps its predictions.
  void addModelResults();
  /// What an infer entry returns.
  void addResults();

  const Bound *lookup(llvm::StringRef name) const { return evaluator.lookupLocal(name); }
  /// Whether there is a loss without an error.
  bool hasLoss() const;

  /// Where the loss is bound: in the step, else in the section; null if nowhere.
  const ast::BindingStatement *lossBinding() const;

  Evaluator evaluator;
  /// Of the section, and of the step.
  std::vector<ParameterGroup> groups, stepGroups;

private:
  struct Metric {
    std::string name;
    program::MetricKind kind;
    Tensor value;
  };

  bool checkNoSetting(const ast::Name &name, llvm::StringRef what, llvm::StringRef hint);
  void declareInputs();
  void declareInput(const ast::Name &name, mlir::RankedTensorType type, BatchAxis batch);
  void callImplicitModel();
  void bindResults(const ast::Block &model, const Value &result);
  void runStatement(const ast::Statement &statement);
  void runStep();
  ParameterGroup readGroup(const ast::GroupStatement &group);
  void readLoss();
  void addMetric(const ast::MetricStatement &node);
  void addMetric(llvm::StringRef name, program::MetricKind kind, const Value &value,
                 const ast::Expr &expr);
  void addNamedResults(llvm::ArrayRef<Value> values, const ast::Results &declared,
                       SourceRange range);
  void addResult(llvm::StringRef name, const Value &value, SourceRange range);
  SourceRange anchor() const;

  EntryBuilder &entry;
  llvm::ArrayRef<ModelUse> uses;
  const ast::Section *section;
  const ast::StepStatement *step;
  std::deque<ModelInstance> instances;
  ModelInstance *implicitModel = nullptr;
  Value modelResult = NoneValue{};
  std::optional<Value> returned;
  const ast::ReturnStatement *returnNode = nullptr;
  std::vector<Metric> metrics;
  NameScope names, stepNames;
  Frame frame;
};

} // namespace dlc::frontend

#endif
