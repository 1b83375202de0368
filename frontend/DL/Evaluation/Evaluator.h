// Evaluation of a model for one entry: walks the tree, keeps compile-time values, appends dl ops to
// the entry.
//
// The same text is evaluated once per entry with N and the phase bound. Evaluation always ends:
// loops, calls, nesting and the work in all are limited, and every limit is an ordinary error.
// After an error the value is Poison and whoever meets it is silent, so one mistake gives one
// message.
#ifndef DLC_FRONTEND_DL_EVALUATION_EVALUATOR_H
#define DLC_FRONTEND_DL_EVALUATION_EVALUATOR_H

#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Evaluation/Program.h"

#include "llvm/Support/SaveAndRestore.h"

#include <deque>

namespace dlc::frontend {

/// Limits of evaluation; a model of 10,000 layers stays far below.
inline constexpr int64_t maxLoopTurns = 100'000;
inline constexpr int64_t maxBlockCalls = 100'000;
inline constexpr int64_t maxWork = 5'000'000;
inline constexpr int64_t maxElements = 1'000'000;
inline constexpr unsigned maxSequenceDepth = 100;
inline constexpr unsigned maxCallDepth = 100;
inline constexpr unsigned maxEvaluationDepth = 1'000;

/// A name and where it got its value.
struct Bound {
  Value value;
  SourceRange range;
  /// Of a loop's variable: the turn, counted from 1; 0 otherwise.
  int64_t turn = 0;
};

/// Counts words within one scope of weight names.
struct NameScope {
  std::string prefix;
  llvm::StringMap<unsigned> counters;

  std::string join(llvm::StringRef part) const {
    return prefix.empty() ? part.str() : prefix + "." + part.str();
  }
  /// "conv1", "Conv2_1": the next free part for a word.
  std::string next(llvm::StringRef word);
};

/// Attributes that hold for a layer, or for all layers inside a block.
struct LayerAttributes {
  Value init = NoneValue{};
  Value biasInit = NoneValue{};
  double lrMult = 1;
  double decayMult = 1;
  bool frozen = false;
  /// Of convolutions: for all directions, and for one of the backward ones alone.
  std::optional<dl::ConvolutionAlgorithm> algorithm, backwardDataAlgorithm, backwardFilterAlgorithm;
  std::optional<int64_t> workspace; ///< bytes
  mlir::Type precision;             ///< what ops compute in; null: as the section says

  /// Null if nothing is wished. `transposed`: of a convolution that runs the other way round, whose
  /// forward pass is the gradient of another one's image.
  dl::WishAttr wish(mlir::MLIRContext *context, bool transposed = false) const;
};

/// Something that owns weights and may be called more than once: `layer f = ...`, a model of a
/// section. Calls after the first find the weights of the first: a key may be declared again when
/// an instance around it runs again.
struct Shared {
  unsigned id = 0;
  unsigned activation = 0;
};

struct LayerInstance : Shared {
  llvm::StringRef name;
  std::string path;
  Callable callee;
  const ast::LayerStatement *node = nullptr;
  std::vector<Value> arguments;
  LayerAttributes attributes;
  /// A call of it was an error: that it has no weights is no news.
  bool hasFailed = false;
};

struct ModelInstance : Shared {
  const ast::Block *block = nullptr;
  Module *module = nullptr;
  /// Before each key: empty, or the model's name.
  std::string prefix;
  /// By the model's parameters.
  llvm::StringMap<Value> settings;
};

/// An argument of a call after evaluation.
struct EvaluatedArgument {
  /// Empty for a positional one.
  ast::Name name;
  Value value;
  SourceRange range;
};

/// `name="x"` of a call.
struct OwnName {
  std::string path;
  SourceRange range;
};

/// A `state` whose body is open: its name must be bound to the value for the next step at the end.
struct OpenState {
  llvm::StringRef name;
  std::string variable;
  mlir::RankedTensorType type;
  SourceRange range;
  /// Scopes that were open at the declaration.
  size_t scopes;
};

/// What is visible while a body runs.
struct Frame {
  /// Names of `module` are seen; weights get names of `names`. One scope is open.
  Frame(Module &module, NameScope &names) : module(&module), names(&names), scopes(1) {}
  /// The body of a block or model that `caller` calls.
  Frame(Module &module, NameScope &names, const ast::Block &block, const CallFrame &call,
        Frame *caller)
      : Frame(module, names) {
    this->block = &block;
    this->call = &call;
    body = block.body;
    parent = caller;
    seesDimensions = block.isModel;
  }

  Module *module;
  /// Null in a section.
  const ast::Block *block = nullptr;
  /// What runs: of the block, or of the section.
  ast::Body body;
  const CallFrame *call = nullptr;
  Frame *parent = nullptr;
  NameScope *names;
  LayerAttributes attributes;
  /// One per open body, innermost last.
  std::vector<llvm::StringMap<Bound>> scopes;
  /// Names that ended with a body: where they were bound, and "if", "for", "repeat".
  llvm::StringMap<std::pair<SourceRange, llvm::StringRef>> ended;
  std::vector<OpenState> states;
  /// Names that belong to one scope, in whatever `if` inside it they are bound: the settings of a
  /// section or step.
  llvm::ArrayRef<llvm::StringLiteral> settings;
  size_t settingsScope = 0;
  /// Symbolic dimensions are plain integers in models and sections.
  bool seesDimensions = false;
  /// Of a section: the model that is called by itself.
  const ast::Block *calledModel = nullptr;
};

class Evaluator {
public:
  /// `entry` is null while only compile-time values are wanted.
  Evaluator(Program &program, EntryBuilder *entry) : program(program), entry(entry) {}

  // ---- used by sections
  Value evaluate(const ast::Expr &expr);
  bool execute(const ast::Statement &statement);
  /// Gives a name its value; `turn` is that of the loop whose variable it is.
  void bind(llvm::StringRef name, Value value, SourceRange range, int64_t turn = 0);
  const Bound *lookupLocal(llvm::StringRef name) const;
  /// Calls a model with tensors for its inputs. `implicit` calls leave no note.
  Value callModel(ModelInstance &model, llvm::ArrayRef<EvaluatedArgument> arguments,
                  SourceRange range, bool implicit);
  /// Null after an error. `batch` is set to the axis written N.
  mlir::RankedTensorType evaluateType(const ast::Type &type, BatchAxis *batch = nullptr);
  /// The type of a model's input, as the model sees its names.
  mlir::RankedTensorType inputType(const ModelInstance &model, const ast::Type &type,
                                   BatchAxis *batch);
  /// Makes an instance known, before its first call.
  void declareShared(Shared &shared);
  /// Reports if the value is not of the type; `what` begins the message: "ResNet50 returns".
  bool checkType(const Value &value, const ast::Type &declared, SourceRange range,
                 const llvm::Twine &what);
  /// Evaluates a bool; false after an error.
  bool conditionOf(const ast::Expr &expr, bool &result);
  /// Of all files: a mistake in one that nothing reads is one as well.
  void evaluateConstants();

  // ---- used by built-ins and operators
  DiagnosticBuilder error(SourceRange range, const llvm::Twine &message);
  /// An error with a note where `tensor` comes from: "'x' is declared here", or `subject` + " comes
  /// from this conv2d".
  DiagnosticBuilder errorAbout(SourceRange range, const llvm::Twine &message, const Tensor &tensor,
                               const llvm::Twine &subject);
  /// The dl value of the weight `key`, which is declared by this unless it is shared. Null after an
  /// error. `fanIn` and `fanOut`: inputs and outputs of one unit, for initialisers.
  std::optional<Tensor> parameter(llvm::StringRef key, mlir::RankedTensorType type,
                                  const Value &init, const LayerAttributes &attributes,
                                  int64_t fanIn, int64_t fanOut, SourceRange range,
                                  mlir::Location location,
                                  program::Role role = program::Role::Parameter);
  /// The variable of a statistic with its value at this point of the entry. Null after an error.
  std::optional<Tensor> statistic(llvm::StringRef key, mlir::RankedTensorType type, double first,
                                  SourceRange range, mlir::Location location);
  /// By the layer's attributes, and by the section's groups where they name it.
  bool isFrozen(llvm::StringRef key, const LayerAttributes &attributes) const;
  /// Reports and returns false if a weight or state has the name already, unless
  /// `maySharedRunAgain` and something shared around the first runs again.
  bool takeKey(llvm::StringRef key, SourceRange range, bool maySharedRunAgain);
  /// Counts work; false (after one error) when there was too much.
  bool spend(int64_t amount, SourceRange range);
  /// The same for `count` elements of sequences: memory is what they cost.
  bool spendElements(int64_t count, SourceRange range);
  /// A sequence that was made at `range`; poison if it nests too deep.
  Value makeSequence(std::vector<Value> items, SourceRange range);
  mlir::Location location(llvm::StringRef name, SourceRange range);
  const Origin *makeOrigin(SourceRange range, std::string what, const Tensor &tensor,
                           bool isDeclaration = false);
  NameScope &names() { return *frame->names; }
  /// The source text, if it is short enough for a hint; else empty.
  llvm::StringRef shortText(SourceRange range) const;
  /// The range of the op that makes the value: the last stage of a pipe.
  static SourceRange valueRange(const ast::Expr &expr);
  /// Adds notes on the numbers that `expr` names: "width = 7, in turn 1 of this loop".
  void noteNames(DiagnosticBuilder &error, const ast::Expr &expr);

  Program &program;
  EntryBuilder *entry;
  Frame *frame = nullptr;
  /// Values of the symbolic dimensions of the section.
  const llvm::StringMap<int64_t> *dimensions = nullptr;
  /// What the value that is evaluated is used as, for hints: an initialiser behind `init=`.
  std::optional<Category> wanted;

private:
  friend class Call;

  // ---- EvaluateExpressions.cpp
  Value evaluateName(llvm::StringRef name, SourceRange range);
  Value evaluateItem(const Item &item, SourceRange range);
  /// Tells the observer, if there is one.
  void observeValue(SourceRange range, const Value &value);
  Value evaluateConstant(ConstantItem &constant, SourceRange range);
  Value evaluateOverride(ConstantItem &constant);
  bool isKnown(llvm::StringRef name) const;
  std::string hintForUnknown(llvm::StringRef name, SourceRange range);
  std::string hintForBinding(llvm::StringRef name, SourceRange range) const;
  std::string hintForData(llvm::StringRef name) const;
  Value errorUnknownName(llvm::StringRef name, SourceRange range);
  Value errorUnknownPath(const ast::MemberExpr &node, const ast::NameExpr &root);
  Value errorNoMember(const ast::MemberExpr &node, const Value &base);
  Value evaluateSequence(const ast::SequenceExpr &node);
  Value evaluateList(const ast::ListExpr &node);
  Value joinSequences(const Value &a, const Value &b, SourceRange range);
  Value evaluateUnary(const ast::UnaryExpr &node);
  Value evaluateBinary(const ast::BinaryExpr &node);
  Value evaluateLogical(const ast::BinaryExpr &node);
  Value applyBinary(const ast::BinaryExpr &node, const Value &lhs, const Value &rhs);
  Value evaluateConditional(const ast::ConditionalExpr &node);
  Value evaluatePipe(const ast::PipeExpr &node);
  Value evaluateCall(const ast::CallExpr &node);
  Value evaluateIndexExpr(const ast::IndexExpr &node);
  Value applyIndex(const Value &base, llvm::ArrayRef<ast::Subscript> subscripts, SourceRange range);
  Value evaluateMember(const ast::MemberExpr &node);
  bool subscriptInteger(const ast::Expr *expr, int64_t missing, int64_t &result);

  // ---- EvaluateArguments.cpp
  bool evaluateArguments(llvm::ArrayRef<ast::Argument> arguments,
                         std::vector<EvaluatedArgument> &result);
  /// Takes the attributes out of `arguments`; false after an error.
  bool takeAttributes(std::vector<EvaluatedArgument> &arguments, bool all,
                      LayerAttributes &attributes, OwnName &name);
  bool takeAttribute(const EvaluatedArgument &argument, LayerAttributes &attributes, OwnName &name);
  bool takeAlgorithm(const EvaluatedArgument &argument,
                     std::optional<dl::ConvolutionAlgorithm> &algorithm);
  bool checkPath(const EvaluatedArgument &argument, OwnName &name);
  /// Sorts arguments into `slots`, one per parameter; false after an error. `signature` is the hint
  /// for one too many. Not all of a built-in's may be given by position.
  bool
  bindArguments(llvm::StringRef callee, SourceRange name, llvm::ArrayRef<llvm::StringRef> params,
                std::vector<EvaluatedArgument> &arguments, std::vector<EvaluatedArgument> &slots,
                llvm::function_ref<std::string()> signature,
                llvm::ArrayRef<llvm::StringRef> attributeNames, const Builtin *builtin = nullptr);
  /// Reports the first slot that has no argument and no default.
  bool requireArguments(llvm::StringRef callee, SourceRange name,
                        llvm::ArrayRef<llvm::StringRef> params, llvm::ArrayRef<bool> required,
                        llvm::ArrayRef<EvaluatedArgument> slots,
                        llvm::function_ref<std::string()> signature);

  // ---- CallBuiltins.cpp
  Value callBuiltin(const Builtin &builtin, SourceRange name,
                    std::vector<EvaluatedArgument> arguments, LayerInstance *layer);
  bool convertArgument(const Builtin &builtin, const BuiltinParam &param,
                       EvaluatedArgument &argument, SourceRange name);
  /// For an argument behind those that may be given by position.
  std::string hintForPosition(const Builtin &builtin, const EvaluatedArgument &argument) const;

  // ---- CallBlocks.cpp
  Value callBlock(const ast::Block &block, Module &module, SourceRange name,
                  std::vector<EvaluatedArgument> arguments, LayerInstance *layer);
  Value callLayer(LayerInstance &layer, SourceRange name, std::vector<EvaluatedArgument> arguments);
  bool enterCall(const ast::Block &block, SourceRange range);
  Value runBody(const ast::Block &block);
  Value checkResults(const ast::Block &block, Value result);
  std::string signatureOf(const ast::Block &block);

  // ---- EvaluateCalls.cpp
  Value call(const Callable &callee, SourceRange name, std::vector<EvaluatedArgument> arguments);
  Value callUnwatched(const Callable &callee, SourceRange name,
                      std::vector<EvaluatedArgument> arguments);
  void errorNotCallable(SourceRange range, const llvm::Twine &what, const Value &callee);

  // ---- EvaluateStatements.cpp
  bool isInModel() const;
  bool executeBody(ast::Body body);
  bool executeScoped(llvm::StringRef kind, llvm::function_ref<bool()> run);
  bool executeBinding(const ast::BindingStatement &node);
  bool executeLayer(const ast::LayerStatement &node);
  bool executeParameter(const ast::ParameterStatement &node);
  bool executeState(const ast::StateStatement &node);
  /// Keeps the states declared in the innermost scope for the next step.
  void keepStates();
  bool executeFor(const ast::ForStatement &node);
  bool executeRepeat(const ast::RepeatStatement &node);
  /// Each turn of a `for`; `run` returns false if the loop should stop.
  bool runLoop(const ast::LoopHead &head, bool makesList, llvm::function_ref<bool()> run);
  bool executeTurn(const ast::Name &label, llvm::StringRef kind, SourceRange range,
                   llvm::function_ref<bool()> run);
  bool bindPattern(const ast::Pattern &pattern, const Value &value, int64_t turn);
  bool bindPatterns(llvm::ArrayRef<ast::Pattern> patterns, SourceRange range, const Value &value,
                    int64_t turn);
  bool executeIf(const ast::IfStatement &node);
  bool executeAssert(const ast::AssertStatement &node);

  std::vector<Value> holes;
  unsigned depth = 0;
  int64_t turns = 0;
  int64_t blockCalls = 0;
  int64_t work = 0;
  int64_t elements = 0;
  /// A limit was passed: everything stops.
  bool stopped = false;
  unsigned sharedCount = 0;
  std::vector<Shared *> activeShared;

  struct Use {
    SourceRange range;
    std::string place;
    /// Instances around it, with their activations.
    std::vector<std::pair<unsigned, unsigned>> shared;
  };
  llvm::StringMap<Use> usedKeys;
  std::string loopPlace() const;
  struct Loop {
    int64_t turn;
    SourceRange range;
    /// Of `[f(i) for i in s]`.
    bool makesList;
  };
  /// The loops around, outermost first.
  std::vector<Loop> loops;
  /// Notes which element of a list is being made.
  void noteElements(DiagnosticBuilder &builder) const;

  std::deque<CallFrame> callFrames;
  std::deque<Origin> origins;
  std::deque<LayerInstance> layers;
};

/// Evaluates what is known before a model is: constants, settings, what `-D` gives.
class CompileTimeEvaluator : public Evaluator {
public:
  CompileTimeEvaluator(Program &program, Module &module)
      : Evaluator(program, nullptr), own(module, ownNames) {
    frame = &own;
  }

private:
  NameScope ownNames;
  Frame own;
};

} // namespace dlc::frontend

#endif
