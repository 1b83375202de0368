// Compiles text for the frontend's tests.
#ifndef DLC_TEST_FRONTEND_HARNESS_H
#define DLC_TEST_FRONTEND_HARNESS_H

#include "frontend/DL/Frontend.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace dlc::frontend::test {

/// A compilation of `text` under the name test.dl. The module lives as long as this does.
struct Compiled {
  explicit Compiled(llvm::StringRef text, FrontendOptions options = {});

  /// As a terminal shows them; empty if there are none.
  std::string diagnostics() const;
  /// The module as text; the diagnostics if there is none.
  std::string module() const;
  /// Names of the weights, in order of definition, each with its shape: "conv1.weight 20x1x5x5".
  std::vector<std::string> weights();

  mlir::MLIRContext context;
  SourceManager sources;
  DiagnosticEngine engine;
  mlir::OwningOpRef<mlir::ModuleOp> result;
};

/// `body` as the body of a model with input x: f32[N, 3, 8, 8], and a train section with N = 4. The
/// body begins in line 2, indented by two.
std::string inModel(llvm::StringRef body);

/// One program and exactly what is said about it.
struct ErrorCase {
  const char *name;
  llvm::StringRef text;
  const char *expected;
  std::vector<std::string> defines;
};

/// Compiles each case and compares.
void checkErrors(llvm::ArrayRef<ErrorCase> cases, std::string (*wrap)(llvm::StringRef) = nullptr);

} // namespace dlc::frontend::test

#endif
