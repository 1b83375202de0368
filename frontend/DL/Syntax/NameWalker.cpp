// See NameWalker.h.
#include "frontend/DL/Syntax/NameWalker.h"

namespace dlc::frontend {

using namespace ast;

void NameWalker::walk(const Expr *expr) {
  if (!expr)
    return;
  switch (expr->kind) {
  case ExprKind::NameRef:
    return visit(llvm::cast<NameExpr>(expr)->name);
  case ExprKind::Sequence:
    for (const Expr *item : llvm::cast<SequenceExpr>(expr)->items)
      walk(item);
    return;
  case ExprKind::List:
    walk(llvm::cast<ListExpr>(expr)->head.sequence);
    walk(llvm::cast<ListExpr>(expr)->condition);
    return walk(llvm::cast<ListExpr>(expr)->element);
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

void NameWalker::walk(llvm::ArrayRef<Argument> arguments) {
  for (const Argument &argument : arguments)
    walk(argument.value);
}

void NameWalker::walk(const Type &type) {
  for (const Expr *dimension : type.dimensions)
    walk(dimension);
}

void NameWalker::walk(Body body) {
  for (const Statement *statement : body)
    walk(*statement);
}

void NameWalker::walk(llvm::ArrayRef<Subscript> subscripts) {
  for (const Subscript &subscript : subscripts) {
    walk(subscript.begin);
    walk(subscript.end);
    walk(subscript.step);
  }
}

void NameWalker::walkPipe(const PipeExpr &node) {
  walk(node.head);
  for (const Stage &stage : node.stages) {
    visit(stage.name.text);
    walk(stage.arguments);
    for (llvm::ArrayRef<Subscript> index : stage.indices)
      walk(index);
  }
}

void NameWalker::walk(const Statement &statement) {
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
    walk(llvm::cast<ForStatement>(statement).head.sequence);
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
  case StatementKind::Step:
    return walk(llvm::cast<StepStatement>(statement).body);
  }
}

void forEachBinding(Body body, bool inSteps,
                    llvm::function_ref<void(const Name &, const BindingStatement *)> visit) {
  for (const Statement *statement : body) {
    if (auto *binding = llvm::dyn_cast<BindingStatement>(statement))
      for (const Name &name : binding->names)
        visit(name, binding);
    if (auto *layer = llvm::dyn_cast<LayerStatement>(statement))
      visit(layer->name, nullptr);
    if (auto *loop = llvm::dyn_cast<ForStatement>(statement))
      forEachBinding(loop->body, inSteps, visit);
    if (auto *loop = llvm::dyn_cast<RepeatStatement>(statement))
      forEachBinding(loop->body, inSteps, visit);
    if (auto *choice = llvm::dyn_cast<IfStatement>(statement)) {
      forEachBinding(choice->thenBody, inSteps, visit);
      forEachBinding(choice->elseBody, inSteps, visit);
    }
    if (auto *step = llvm::dyn_cast<StepStatement>(statement); step && inSteps)
      forEachBinding(step->body, inSteps, visit);
  }
}

} // namespace dlc::frontend
