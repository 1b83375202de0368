// Any bytes: the frontend gives a verified module or errors of the language, never both, never an
// internal error.
#include "frontend/DL/Frontend.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace dlc::frontend;

/// LLVM's shared libraries are not instrumented: what they allocate from arenas that our code has
/// marked would be reported.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

/// A context keeps all types and locations that it has seen: now and then it is made anew.
static mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static unsigned runs = 0;
  if (runs++ % 1000 == 0)
    current = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  return *current;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceManager sources;
  DiagnosticEngine engine;
  FileId file = sources.add("fuzz.dl", {reinterpret_cast<const char *>(data), size});
  auto module = compile(sources, file, FrontendOptions(), context(), engine);
  std::string shown;
  llvm::raw_string_ostream out(shown);
  render(engine, sources, out);
  bool isOurFault = bool(module) == engine.hasErrors();
  for (const Diagnostic &diagnostic : engine.diagnostics())
    isOurFault |= llvm::StringRef(diagnostic.message).starts_with("internal error");
  if (isOurFault) {
    llvm::errs() << shown;
    __builtin_trap();
  }
  return 0;
}
