// What one compilation shares between its entries: files with their items, constants, `-D`, and the
// table of variables.
#ifndef DLC_FRONTEND_DL_EVALUATION_PROGRAM_H
#define DLC_FRONTEND_DL_EVALUATION_PROGRAM_H

#include "frontend/DL/Evaluation/Value.h"
#include "frontend/DL/Frontend.h"

#include "dialects/DL/DL.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <map>

namespace dlc::frontend {

/// A top-level constant; evaluated when it is first used, so that the order of items is free.
struct ConstantItem {
  const ast::Constant *node;
  Module *module;
  enum { Waiting, Running, Done } state = Waiting;
  Value value;
  /// From `-D`, else null.
  const ast::Expr *override = nullptr;
};

/// A name of a file: one of the two pointers is set.
struct Item {
  ConstantItem *constant = nullptr;
  const ast::Block *block = nullptr;
  /// The file that declares it; another one for an imported name.
  Module *module = nullptr;
  /// Where the name is declared or imported, for messages.
  SourceRange range;
};

/// One .dl file: its tree and the names its blocks see.
struct Module {
  std::unique_ptr<ast::File> tree;
  llvm::StringMap<Item> items;
  bool isLoading = true;
};

/// How a step trains a parameter: from the layer's attributes, then from groups.
struct UpdateSettings {
  double lrMult = 1;
  double decayMult = 1;
  bool frozen = false;
  /// Of a parameter group; null: the step's or the section's.
  Plan optimizer;
};

/// A weight (dl.variable). Settings of groups and attributes are resolved when the module is
/// written.
struct Variable {
  std::string key;
  mlir::RankedTensorType type;
  program::InitialiserAttr init;
  /// The layer's call or the `parameter` statement.
  SourceRange range;
  mlir::Location location;
  /// The entry that met it first.
  std::string entry;
  UpdateSettings settings;
  /// What a group's `init` needs to be resolved: inputs and outputs of one unit.
  int64_t fanIn = 1;
  int64_t fanOut = 1;
  /// Some step updates it.
  bool isTrained = false;
  /// A parameter, or a statistic such as batch_norm's running mean, which no optimizer sees.
  program::Role role = program::Role::Parameter;
  /// The loss of some step depends on it.
  bool isInALoss = false;
  /// How steps update it, where that is not by their optimizer alone: "lr x 10, decay x 0".
  llvm::SmallVector<std::string, 1> training = {};
};

/// A `state` of one entry (dl.variable): its value goes from step to step of that entry.
struct StateVariable {
  std::string name;
  mlir::RankedTensorType type;
  program::InitialiserAttr init;
  SourceRange range;
  mlir::Location location;
};

class Program {
public:
  Program(SourceManager &sources, const FrontendOptions &options, mlir::MLIRContext &context,
          DiagnosticEngine &engine)
      : sources(sources), options(options), context(context), engine(engine) {}

  /// Parses the file and all it imports, collects items. Null after an error.
  Module *load(FileId file);
  /// "from "std/resnet.dl" import Bottleneck", for a name of dlc's own library or, `mayBeNear`, one
  /// near it; else empty.
  std::string hintForImport(llvm::StringRef name, bool mayBeNear);
  /// Parses `-D` and attaches it to the constants of `main`; the others must be dimensions.
  void readDefines(Module &main);
  /// Of all files.
  llvm::ArrayRef<std::unique_ptr<ConstantItem>> allConstants() const { return constants; }

  SourceManager &sources;
  const FrontendOptions &options;
  mlir::MLIRContext &context;
  DiagnosticEngine &engine;

  /// In order of definition, and by key.
  std::vector<std::unique_ptr<Variable>> variables;
  llvm::StringMap<Variable *> variableByKey;
  std::vector<StateVariable> states;
  /// Of the section's groups, in order, what must be known before a step is built: `frozen`, by
  /// batch_norm, and `precision`.
  std::vector<std::pair<std::string, bool>> frozenPatterns;
  std::vector<std::pair<std::string, DType>> precisionPatterns;

  /// What `+` joined. Sequences refer to their elements, which may be such sequences again: here
  /// they have one owner.
  std::deque<std::vector<Value>> lists;

  /// A `-D` that names no constant.
  struct Define {
    ast::Name name;
    const ast::Expr *value;
    bool isUsed = false;
  };
  std::vector<Define> dimensionDefines;

private:
  void collectItems(Module &module);
  void addItem(Module &module, ast::Name name, Item item);
  bool import(Module &module, const ast::Import &import);
  FileId findImport(const Module &module, const ast::Import &import);
  void checkParams(const ast::Block &block);
  void readLibrary();

  /// Files in the folders `std` of the include folders, "std/resnet.dl", and the file of each of
  /// their blocks; read when the first message needs them.
  std::vector<std::string> libraryFiles;
  std::map<std::string, std::string> libraryNames;
  bool hasReadLibrary = false;
  std::map<std::string, std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<ConstantItem>> constants;
  std::vector<std::unique_ptr<ast::File>> defineTrees;
};

} // namespace dlc::frontend

#endif
