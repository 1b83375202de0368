// What is read from a section before its evaluation: compile-time settings, dimensions, and the
// uses of names.
#include "frontend/DL/Sections.h"

namespace dlc::frontend {

using namespace ast;

static constexpr llvm::StringLiteral trainSettings[] = {
    "batch",           "epochs", "precision", "loss_scale", "accumulate", "ema",
    "reference_batch", "loss",   "optimizer", "schedule",   "clip"};

// -------------------------------------------------------------------------------- walking the tree

namespace {
/// Calls `visit` for every name that an expression reads.
class NameWalker {
public:
  explicit NameWalker(llvm::function_ref<void(llvm::StringRef)> visit) : visit(visit) {}

  void walk(const Expr *expr) {
    if (!expr)
      return;
    switch (expr->kind) {
    case ExprKind::NameRef:
      return visit(llvm::cast<NameExpr>(expr)->name);
    case ExprKind::Sequence:
      for (const Expr *item : llvm::cast<SequenceExpr>(expr)->items)
        walk(item);
      return;
    case ExprKind::Unary:
      return walk(llvm::cast<UnaryExpr>(expr)->operand);
    case ExprKind::Binary:
      walk(llvm::cast<BinaryExpr>(expr)->lhs);
      return walk(llvm::cast<BinaryExpr>(expr)->rhs);
    case ExprKind::Conditional: {
      auto *node = llvm::cast<ConditionalExpr>(expr);
      walk(node->condition);
      walk(node->thenValue);
      return walk(node->elseValue);
    }
    case ExprKind::Pipe:
      return walkPipe(*llvm::cast<PipeExpr>(expr));
    case ExprKind::Call:
      walk(llvm::cast<CallExpr>(expr)->callee);
      return walk(llvm::cast<CallExpr>(expr)->arguments);
    case ExprKind::Index:
      walk(llvm::cast<IndexExpr>(expr)->base);
      return walk(llvm::cast<IndexExpr>(expr)->subscripts);
    case ExprKind::Member:
      return walk(llvm::cast<MemberExpr>(expr)->base);
    default:
      return;
    }
  }
  void walk(llvm::ArrayRef<Argument> arguments) {
    for (const Argument &argument : arguments)
      walk(argument.value);
  }
  void walk(const Type &type) {
    for (const Expr *dimension : type.dimensions)
      walk(dimension);
  }
  void walk(Body body) {
    for (const Statement *statement : body)
      walk(*statement);
  }

private:
  void walk(llvm::ArrayRef<Subscript> subscripts) {
    for (const Subscript &subscript : subscripts) {
      walk(subscript.begin);
      walk(subscript.end);
      walk(subscript.step);
    }
  }
  void walkPipe(const PipeExpr &node) {
    walk(node.head);
    for (const Stage &stage : node.stages) {
      visit(stage.name.text);
      walk(stage.arguments);
      for (llvm::ArrayRef<Subscript> index : stage.indices)
        walk(index);
    }
  }
  void walk(const Statement &statement) {
    switch (statement.kind) {
    case StatementKind::Binding:
      return walk(llvm::cast<BindingStatement>(statement).value);
    case StatementKind::Layer:
      visit(llvm::cast<LayerStatement>(statement).callee.text);
      return walk(llvm::cast<LayerStatement>(statement).arguments);
    case StatementKind::Parameter:
      walk(llvm::cast<ParameterStatement>(statement).type);
      return walk(llvm::cast<ParameterStatement>(statement).init);
    case StatementKind::State:
      walk(llvm::cast<StateStatement>(statement).type);
      return walk(llvm::cast<StateStatement>(statement).init);
    case StatementKind::For:
      walk(llvm::cast<ForStatement>(statement).sequence);
      return walk(llvm::cast<ForStatement>(statement).body);
    case StatementKind::Repeat:
      walk(llvm::cast<RepeatStatement>(statement).count);
      return walk(llvm::cast<RepeatStatement>(statement).body);
    case StatementKind::If:
      walk(llvm::cast<IfStatement>(statement).condition);
      walk(llvm::cast<IfStatement>(statement).thenBody);
      return walk(llvm::cast<IfStatement>(statement).elseBody);
    case StatementKind::Assert:
      walk(llvm::cast<AssertStatement>(statement).condition);
      return walk(llvm::cast<AssertStatement>(statement).message);
    case StatementKind::Return:
      for (const Expr *value : llvm::cast<ReturnStatement>(statement).values)
        walk(value);
      return;
    case StatementKind::Field:
      return walk(llvm::cast<FieldStatement>(statement).field.type);
    case StatementKind::Metric:
      return walk(llvm::cast<MetricStatement>(statement).value);
    case StatementKind::Group:
      for (const Setting &setting : llvm::cast<GroupStatement>(statement).settings)
        walk(setting.value);
      return;
    case StatementKind::Step: {
      auto &step = llvm::cast<StepStatement>(statement);
      for (const StepTarget &target : step.targets)
        visit(target.text);
      return walk(step.body);
    }
    }
  }

  llvm::function_ref<void(llvm::StringRef)> visit;
};
} // namespace

bool mentions(const Section &section, llvm::StringRef name) {
  bool found = false;
  NameWalker([&](llvm::StringRef each) { found |= each == name; }).walk(section.body);
  return found;
}

/// Calls `visit` for every name that a body binds, also inside `if`, `for`, `repeat`.
static void forEachBinding(Body body,
                           llvm::function_ref<void(const Name &, const BindingStatement *)> visit) {
  for (const Statement *statement : body) {
    if (auto *binding = llvm::dyn_cast<BindingStatement>(statement))
      for (const Name &name : binding->names)
        visit(name, binding);
    if (auto *layer = llvm::dyn_cast<LayerStatement>(statement))
      visit(layer->name, nullptr);
    if (auto *loop = llvm::dyn_cast<ForStatement>(statement))
      forEachBinding(loop->body, visit);
    if (auto *loop = llvm::dyn_cast<RepeatStatement>(statement))
      forEachBinding(loop->body, visit);
    if (auto *choice = llvm::dyn_cast<IfStatement>(statement)) {
      forEachBinding(choice->thenBody, visit);
      forEachBinding(choice->elseBody, visit);
    }
    if (auto *step = llvm::dyn_cast<StepStatement>(statement))
      forEachBinding(step->body, visit);
  }
}

const BindingStatement *findBinding(Body body, llvm::StringRef name) {
  const BindingStatement *found = nullptr;
  forEachBinding(body, [&](const Name &each, const BindingStatement *binding) {
    if (each.text == name && binding)
      found = binding;
  });
  return found;
}

void checkUnusedNames(Program &program, const Section &section,
                      const llvm::StringMap<SourceRange> &dimensions) {
  llvm::StringMap<bool> read;
  NameWalker([&](llvm::StringRef name) { read[name] = true; }).walk(section.body);
  llvm::ArrayRef<llvm::StringLiteral> settings = trainSettings;
  if (!section.isTrain)
    settings = settings.take_front(1);
  forEachBinding(section.body, [&](const Name &name, const BindingStatement *) {
    if (read.contains(name.text) || dimensions.contains(name.text) ||
        llvm::is_contained(settings, name.text))
      return;
    llvm::SmallVector<llvm::StringRef> candidates(settings.begin(), settings.end());
    llvm::StringRef nearest = nearestName(name.text, candidates);
    program.engine.error(name.range, "'" + name.text + "' is bound and never used")
        .hint(nearest.empty() ? "" : "did you mean the setting '" + nearest.str() + "'?");
  });
}

// --------------------------------------------------------------------------- before the evaluation

namespace {
/// Evaluates those bindings of a section that read nothing but compile-time names.
class SettingsReader {
public:
  SettingsReader(Program &program, Module &module) : evaluator(program, nullptr), module(module) {
    frame.module = &module;
    frame.names = &names;
    frame.scopes.emplace_back();
    evaluator.frame = &frame;
  }

  void read(Body body) {
    for (Statement *const &statement : body) {
      if (auto *binding = llvm::dyn_cast<BindingStatement>(statement);
          binding && binding->names.size() == 1) {
        const Name &name = binding->names.front();
        if (isKnown(binding->value))
          evaluator.bind(name.text, evaluator.evaluate(*binding->value), name.range);
        else
          frame.scopes.back().erase(name.text);
      }
      auto *choice = llvm::dyn_cast<IfStatement>(statement);
      bool condition;
      bool isDecided = choice && isKnown(choice->condition);
      if (!isDecided && !llvm::isa<BindingStatement>(statement))
        forEachBinding(statement, [&](const Name &name, const BindingStatement *) {
          frame.scopes.back().erase(name.text);
        });
      if (isDecided && evaluator.conditionOf(*choice->condition, condition))
        read(condition ? choice->thenBody : choice->elseBody);
    }
  }

  llvm::StringMap<Bound> take() { return std::move(frame.scopes.back()); }

private:
  bool isKnown(const Expr *expr) {
    bool known = true;
    NameWalker([&](llvm::StringRef name) {
      auto item = module.items.find(name);
      bool isConstant = item != module.items.end() && item->second.constant;
      const Builtin *builtin = findBuiltin(name);
      bool isFunction = builtin && (builtin->category == Category::CompileTime ||
                                    builtin->category == Category::Function);
      bool isNumber =
          llvm::any_of(builtinConstants(), [&](const auto &each) { return each.name == name; });
      known &= evaluator.lookupLocal(name) || isConstant || isFunction || isNumber;
    }).walk(expr);
    return known;
  }

  Evaluator evaluator;
  Module &module;
  NameScope names;
  Frame frame;
};
} // namespace

llvm::StringMap<Bound> evaluateSettings(Program &program, Module &module, const Section &section) {
  SettingsReader reader(program, module);
  reader.read(section.body);
  return reader.take();
}

void collectDimensions(const Module &module, const Section &section, llvm::ArrayRef<ModelUse> uses,
                       llvm::StringMap<SourceRange> &names) {
  auto collect = [&](const Type &type, const Module &scope, const Block *block) {
    for (const Expr *dimension : type.dimensions)
      NameWalker([&](llvm::StringRef name) {
        bool isParam = block && llvm::any_of(block->params,
                                             [&](const Param &p) { return p.name.text == name; });
        if (!isParam && !scope.items.contains(name) && !findBuiltin(name))
          names.try_emplace(name, dimension->range);
      }).walk(dimension);
  };
  for (const ModelUse &use : uses) {
    for (const Param &param : use.block->params)
      if (param.type)
        collect(*param.type, *use.module, use.block);
    if (use.block->results.single)
      collect(*use.block->results.single, *use.module, use.block);
    for (const Field &field : use.block->results.fields)
      collect(field.type, *use.module, use.block);
  }
  for (const Statement *statement : section.body)
    if (auto *field = llvm::dyn_cast<FieldStatement>(statement))
      collect(field->field.type, module, nullptr);
}

// ---------------------------------------------------------------------------- after the evaluation

void checkSettings(Evaluator &evaluator,
                   llvm::function_ref<const Bound *(llvm::StringRef)> lookup) {
  auto isNeutral = [](llvm::StringRef name, const Value &value) {
    if (name == "precision")
      return value.is<DType>() && value.as<DType>() == DType::F32;
    if (name == "accumulate")
      return value.isInteger() && value.integer() == 1;
    if (name == "schedule" && value.is<Plan>())
      return value.as<Plan>()->maker->name == "constant";
    return value.isNone();
  };
  for (llvm::StringRef name :
       {"precision", "loss_scale", "accumulate", "ema", "reference_batch", "schedule", "clip"}) {
    const Bound *bound = lookup(name);
    if (bound && !bound->value.isPoison() && !isNeutral(name, bound->value))
      evaluator.error(bound->range,
                      "'" + name + "' with " + describe(bound->value) + " is not available yet");
  }
}

} // namespace dlc::frontend
