// The model language: text to dl.
//
//   SourceManager sources;
//   DiagnosticEngine engine;
//   OwningOpRef<ModuleOp> module = frontend::compile(sources, "lenet.dl", options, context,
//   engine); if (!module) { render(engine, sources, llvm::errs()); ... }
//
// The result is a module of dl.variables and dl.entries with static shapes: train_step, evaluate
// and the inference entries. Every error of the input is a Diagnostic; null is returned exactly if
// there was one. The loader of files is the SourceManager, so that a language server or a test can
// compile text that is on no disk.
#ifndef DLC_FRONTEND_DL_FRONTEND_H
#define DLC_FRONTEND_DL_FRONTEND_H

#include "frontend/DL/Syntax/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dlc::frontend {

/// Watches an evaluation, for editors. A place may be reported many times: once a turn of a loop,
/// once an entry.
class EvaluationObserver {
public:
  virtual ~EvaluationObserver() = default;
  /// A name is read at `use`; it got its value at `definition`, which may be in no file (a
  /// built-in).
  virtual void onName(SourceRange use, SourceRange definition) = 0;
  /// What stands at `range` has this value: "the tensor f32[64, 10]".
  virtual void onValue(SourceRange range, const std::string &description) = 0;
  /// The call named at `callee` made so many numbers that are trained.
  virtual void onCall(SourceRange callee, int64_t newParameters) = 0;
};

struct FrontendOptions {
  /// `-D NAME=value`, each as written: constants of the main file and dimensions of the sections.
  std::vector<std::string> defines;
  /// `-I`: where imports are looked for behind the importing file's folder, in this order.
  std::vector<std::string> includeDirs;
  /// `--train`: which train section; may be empty if there is one only.
  std::string trainSection;
  /// `--infer-batch`: overrides `batch` of the infer sections; empty: theirs, or 1.
  std::vector<int64_t> inferBatches;
  /// `--precision`: f32, bf16, f16 or tf32, where the train section states none.
  std::string precision = "f32";
  /// `--infer-precision`: one of them, where an infer section states none; empty: the train
  /// section's.
  std::string inferPrecision;
  /// `--input-gradients`: a training step that updates no parameter is of use then.
  bool inputGradients = false;
  /// For editors: a file without a section is no error.
  bool mayHaveNoSection = false;
  /// A file of blocks alone, which others import, is no error.
  bool mayBeLibrary = false;
  /// Null: nobody watches.
  EvaluationObserver *observer = nullptr;
};

/// Where a file that is imported may be, in the order of looking: beside the importing file, then
/// in the include folders.
std::vector<std::string> importCandidates(llvm::StringRef importer, llvm::StringRef path,
                                          llvm::ArrayRef<std::string> includeDirs);

/// Compiles a file that `sources` holds already.
mlir::OwningOpRef<mlir::ModuleOp> compile(SourceManager &sources, FileId file,
                                          const FrontendOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &engine);

/// Loads the file first.
mlir::OwningOpRef<mlir::ModuleOp> compile(SourceManager &sources, llvm::StringRef path,
                                          const FrontendOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &engine);

} // namespace dlc::frontend

#endif
