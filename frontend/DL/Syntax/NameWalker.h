// Walks a tree for the names in it, without evaluating anything.
#ifndef DLC_FRONTEND_DL_SYNTAX_NAMEWALKER_H
#define DLC_FRONTEND_DL_SYNTAX_NAMEWALKER_H

#include "frontend/DL/Syntax/AST.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::frontend {

/// Calls `visit` for every name that is read.
class NameWalker {
public:
  explicit NameWalker(llvm::function_ref<void(llvm::StringRef)> visit) : visit(visit) {}

  /// Null is no expression.
  void walk(const ast::Expr *expr);
  void walk(llvm::ArrayRef<ast::Argument> arguments);
  void walk(const ast::Type &type);
  void walk(ast::Body body);

private:
  void walk(llvm::ArrayRef<ast::Subscript> subscripts);
  void walkPipe(const ast::PipeExpr &node);
  void walk(const ast::Statement &statement);

  llvm::function_ref<void(llvm::StringRef)> visit;
};

/// A name that begins with '_' says that nothing may read it.
inline bool isUnusedOnPurpose(llvm::StringRef name) { return name.starts_with("_"); }

/// Calls `visit` for every name that a body binds, also inside `if`, `for`, `repeat`, and steps if
/// `inSteps`. A `layer` has no binding statement.
void forEachBinding(
    ast::Body body, bool inSteps,
    llvm::function_ref<void(const ast::Name &, const ast::BindingStatement *)> visit);

} // namespace dlc::frontend

#endif
