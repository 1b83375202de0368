// The tree of a .dl file: the grammar of the language, nothing decided about meaning.
//
// Nodes live in the File's arena and are never destroyed one by one, so a tree of any depth is
// freed without recursion; they hold StringRefs into the source and ArrayRefs into the arena. Depth
// is limited by the parser (Parser.h), so walking the tree recursively is safe.
#ifndef DLC_FRONTEND_DL_SYNTAX_AST_H
#define DLC_FRONTEND_DL_SYNTAX_AST_H

#include "frontend/DL/Syntax/Source.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/Casting.h"

#include <optional>

namespace dlc::frontend::ast {

/// A name where it stands.
struct Name {
  llvm::StringRef text;
  SourceRange range;
};

// ------------------------------------------------------------------------------------- expressions

enum class ExprKind : uint8_t {
  Integer,
  Float,
  String,
  Bool,
  None,
  DType,
  Hole,
  NameRef,
  Sequence,
  List,
  Unary,
  Binary,
  Conditional,
  Pipe,
  Call,
  Index,
  Member,
};

struct Expr {
  ExprKind kind;
  /// 1 + that of the deepest operand.
  uint32_t depth;
  /// The whole expression, without the parentheses around it.
  SourceRange range;
};

struct IntegerExpr : Expr {
  int64_t value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Integer; }
};
struct FloatExpr : Expr {
  double value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Float; }
};
struct StringExpr : Expr {
  llvm::StringRef value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::String; }
};
struct BoolExpr : Expr {
  bool value;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Bool; }
};
struct NoneExpr : Expr {
  static bool classof(const Expr *e) { return e->kind == ExprKind::None; }
};
/// `f32` as a value.
struct DTypeExpr : Expr {
  llvm::StringRef name;
  static bool classof(const Expr *e) { return e->kind == ExprKind::DType; }
};
/// `_`: the value of the innermost pipe stage around it, or one to come in a `layer`.
struct HoleExpr : Expr {
  static bool classof(const Expr *e) { return e->kind == ExprKind::Hole; }
};
struct NameExpr : Expr {
  llvm::StringRef name;
  static bool classof(const Expr *e) { return e->kind == ExprKind::NameRef; }
};
/// `(a, b)`, `[a, b]`, `(a,)`, `()`.
struct SequenceExpr : Expr {
  llvm::ArrayRef<Expr *> items;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Sequence; }
};

/// A name, or a list of patterns to take a sequence apart.
struct Pattern {
  SourceRange range;
  llvm::StringRef name;
  llvm::ArrayRef<Pattern> items;
};
/// `for a, (b, c) in sequence as label`
struct LoopHead {
  SourceRange range;
  llvm::ArrayRef<Pattern> patterns;
  Expr *sequence;
  /// Empty if not given.
  Name label;
};
/// `[element for a in sequence if condition]`
struct ListExpr : Expr {
  Expr *element;
  LoopHead head;
  /// Null if not given.
  Expr *condition;
  static bool classof(const Expr *e) { return e->kind == ExprKind::List; }
};

enum class UnaryOp : uint8_t { Negate, Not };
struct UnaryExpr : Expr {
  UnaryOp op;
  Expr *operand;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Unary; }
};

enum class BinaryOp : uint8_t {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  MatMul,
  Power,
};
/// As written: "+", "and".
llvm::StringRef spelling(BinaryOp op);

struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange opRange;
  Expr *lhs;
  Expr *rhs;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Binary; }
};

/// `if c then a else b`
struct ConditionalExpr : Expr {
  Expr *condition;
  Expr *thenValue;
  Expr *elseValue;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Conditional; }
};

struct Argument {
  /// Empty for a positional one.
  Name name;
  Expr *value;
};

/// `expr`, or a slice `begin : end : step` whose missing parts are null.
struct Subscript {
  SourceRange range;
  bool isSlice = false;
  Expr *begin = nullptr;
  Expr *end = nullptr;
  Expr *step = nullptr;
};

/// `|> name(arguments)[subscripts]...`
struct Stage {
  /// From the name to the last closing bracket.
  SourceRange range;
  Name name;
  bool isDType = false;
  llvm::ArrayRef<Argument> arguments;
  /// One entry per index suffix.
  llvm::ArrayRef<llvm::ArrayRef<Subscript>> indices;
  /// A `_` in the arguments takes the value; else it comes first.
  bool hasHole = false;
};
struct PipeExpr : Expr {
  Expr *head;
  llvm::ArrayRef<Stage> stages;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Pipe; }
};

struct CallExpr : Expr {
  Expr *callee;
  llvm::ArrayRef<Argument> arguments;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Call; }
};
struct IndexExpr : Expr {
  Expr *base;
  llvm::ArrayRef<Subscript> subscripts;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Index; }
};
struct MemberExpr : Expr {
  Expr *base;
  Name member;
  static bool classof(const Expr *e) { return e->kind == ExprKind::Member; }
};

// ------------------------------------------------------------------------------- types, statements

/// `f32[N, 3]`
struct Type {
  SourceRange range;
  llvm::StringRef dtype;
  llvm::ArrayRef<Expr *> dimensions;
};

struct Field {
  Name name;
  Type type;
};

/// What a model or an infer section returns: one unnamed type, or named fields.
struct Results {
  SourceRange range;
  std::optional<Type> single;
  llvm::ArrayRef<Field> fields;
};

enum class StatementKind : uint8_t {
  Binding,
  Layer,
  Parameter,
  State,
  For,
  Repeat,
  If,
  Assert,
  Return,
  Field,
  Metric,
  Group,
  Step,
};

struct Statement {
  StatementKind kind;
  SourceRange range;
};
using Body = llvm::ArrayRef<Statement *>;

/// `a, b = value`
struct BindingStatement : Statement {
  llvm::ArrayRef<Name> names;
  Expr *value;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Binding; }
};
/// `layer f = linear(_, 256)`
struct LayerStatement : Statement {
  Name name;
  Name callee;
  llvm::ArrayRef<Argument> arguments;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Layer; }
};
struct ParameterStatement : Statement {
  Name name;
  Type type;
  Expr *init;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Parameter; }
};
struct StateStatement : Statement {
  Name name;
  Type type;
  /// Null if not given.
  Expr *init;
  static bool classof(const Statement *s) { return s->kind == StatementKind::State; }
};

/// `for a, (b, c) in sequence as label { ... }`
struct ForStatement : Statement {
  LoopHead head;
  Body body;
  static bool classof(const Statement *s) { return s->kind == StatementKind::For; }
};
struct RepeatStatement : Statement {
  Expr *count;
  Name label;
  Body body;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Repeat; }
};
/// `else if` is an If that is the only statement of elseBody.
struct IfStatement : Statement {
  Expr *condition;
  Body thenBody;
  Body elseBody;
  static bool classof(const Statement *s) { return s->kind == StatementKind::If; }
};
struct AssertStatement : Statement {
  Expr *condition;
  /// Null if not given.
  Expr *message;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Assert; }
};
struct ReturnStatement : Statement {
  llvm::ArrayRef<Expr *> values;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Return; }
};

// Statements of train and infer sections only.

struct FieldStatement : Statement {
  Field field;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Field; }
};
struct MetricStatement : Statement {
  Name name;
  Expr *value;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Metric; }
};

struct PatternString {
  llvm::StringRef text;
  SourceRange range;
};
struct Setting {
  Name name;
  Expr *value;
};
/// `parameters "a.*", "b" { lr_mult = 2 }`
struct GroupStatement : Statement {
  llvm::ArrayRef<PatternString> patterns;
  llvm::ArrayRef<Setting> settings;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Group; }
};

/// A model's name, or a pattern of parameter names.
struct StepTarget {
  llvm::StringRef text;
  SourceRange range;
  bool isPattern;
};
/// `step critic updates Critic every 5 { ... }`
struct StepStatement : Statement {
  Name name;
  llvm::ArrayRef<StepTarget> targets;
  /// 1 if not given.
  int64_t every;
  Body body;
  static bool classof(const Statement *s) { return s->kind == StatementKind::Step; }
};

// ------------------------------------------------------------------------------------------- items

struct Import {
  SourceRange range;
  PatternString path;
  llvm::ArrayRef<Name> names;
};

struct Constant {
  Name name;
  Expr *value;
  llvm::StringRef documentation;
};

/// `NAME`, `NAME : type` or `NAME = default`.
struct Param {
  Name name;
  std::optional<Type> type;
  Expr *defaultValue = nullptr;
};

/// A `block` or a `model`.
struct Block {
  Name name;
  llvm::ArrayRef<Param> params;
  bool isModel = false;
  /// Of a model only.
  Results results;
  Body body;
  /// The closing brace: where a missing `return` is reported.
  SourceRange end;
  llvm::StringRef documentation;
};

struct Use {
  Name model;
  llvm::ArrayRef<Argument> settings;
};

/// A `train` or an `infer` section.
struct Section {
  /// The keyword.
  SourceRange range;
  bool isTrain = false;
  llvm::ArrayRef<Use> uses;
  /// Empty if not given.
  Name name;
  /// Of an infer section, if given.
  std::optional<Results> results;
  Body body;
  /// The closing brace: where a missing setting is reported.
  SourceRange end;
  llvm::StringRef documentation;
};

struct File {
  FileId file = noFile;
  llvm::SmallVector<Import *> imports;
  llvm::SmallVector<Constant *> constants;
  llvm::SmallVector<Block *> blocks;
  llvm::SmallVector<Section *> sections;
  /// Offsets at which items, statements and the settings of groups begin, for the formatter.
  std::vector<uint32_t> statementStarts;
  llvm::BumpPtrAllocator arena;
};

} // namespace dlc::frontend::ast

#endif
