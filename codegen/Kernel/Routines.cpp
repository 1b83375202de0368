//===- Routines.cpp - functions that many kernels share ---------------------------------------===//
#include "codegen/Kernel/Routines.h"
#include "codegen/Kernel/KernelCache.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace dlc::codegen;

/// Whether `function` can be compiled without the rest of its module.
static bool standsAlone(LLVM::LLVMFuncOp function) {
  auto uses = SymbolTable::getSymbolUses(&function.getBody());
  return function.getLinkage() == LLVM::Linkage::Internal && uses && uses->empty();
}

/// The name that the text of `function` gives it; what it is called by now does not count.
static StringAttr nameByText(LLVM::LLVMFuncOp function) {
  function.setSymName(routinePrefix);
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  return StringAttr::get(function.getContext(), routinePrefix.str() + hexadecimal(hashText(text)));
}

Routines::Routine &Routines::get(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  return known[name];
}

llvm::Expected<std::vector<std::string>> Routines::takeOut(ModuleOp module, Compile compile) {
  std::vector<std::string> objects;
  auto functions = llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>());
  for (LLVM::LLVMFuncOp function : functions) {
    if (!standsAlone(function))
      continue;
    StringAttr before = function.getSymNameAttr(), name = nameByText(function);
    (void)SymbolTable::replaceAllSymbolUses(before, name, module);
    if (module.lookupSymbol(name)) { // the kernel itself has it twice
      function.erase();
      continue;
    }
    function.setSymNameAttr(name);
    function.setLinkage(LLVM::Linkage::External);
    function.setVisibility_(LLVM::Visibility::Hidden);
    Routine &routine = get(name.str());
    std::call_once(routine.compiled, [&] {
      OwningOpRef<ModuleOp> alone = ModuleOp::create(module.getLoc());
      alone->push_back(function->clone());
      if (llvm::Expected<std::string> object = compile(*alone))
        routine.object = std::move(*object);
      else
        routine.error = llvm::toString(object.takeError());
    });
    if (!routine.error.empty())
      return llvm::createStringError(routine.error);
    function.getBody().dropAllReferences();
    function.getBody().getBlocks().clear();
    objects.push_back(routine.object);
  }
  return objects;
}
