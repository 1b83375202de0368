//===- Simt.cpp - see Simt.h ------------------------------------------------------------------===//
#include "codegen/CUDA/Compile/Simt.h"
#include "codegen/Kernel/Status.h"
#include "runtime/Core/FileWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace dlc::codegen;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

//===------------------------------------------------------------------------------------------===//
// The text
//===------------------------------------------------------------------------------------------===//

std::string dlc::codegen::simtSymbol(StringRef function) { return function.str() + "_simt"; }

/// What the kernels of a file name, each once, in an order that is right for all of them.
static std::vector<std::string> merged(llvm::ArrayRef<CudaSource> kernels,
                                       std::vector<std::string> CudaSource::*names) {
  std::vector<std::string> all;
  for (const CudaSource &kernel : kernels)
    for (const std::string &name : kernel.*names)
      if (!llvm::is_contained(all, name))
        all.push_back(name);
  return all;
}

/// Runs one block of a phase: buffers from the launch, then the fibers.
static std::string entryText(const CudaSource &kernel, unsigned phase, StringRef scope) {
  std::string arguments;
  for (auto [i, type] : llvm::enumerate(kernel.parameters))
    arguments += (i ? ", " : "") + ("{a, " + std::to_string(i) + "}");
  return "extern \"C\" void " + simtSymbol(kernel.functions[phase]) +
         "(const dlc_args *args, uint32_t task, void *scratch) {\n  simt::run(args, task, "
         "scratch, " +
         std::to_string(kernel.threads[phase]) + ", [](const dlc_args *a) { " + scope.str() +
         "::" + kernel.functions[phase] + "(" + arguments + "); });\n}\n";
}

/// Takes out what unrolls loops, whose copies would take more time to compile than they save on
/// fibers; lines keep their numbers.
static void leaveLoops(std::string &text) {
  const StringRef unroll = "#pragma unroll";
  for (size_t at = 0; (at = text.find(unroll, at)) != std::string::npos;)
    text.erase(at, std::min(text.find('\n', at), text.size()) - at);
}

std::string dlc::codegen::simtText(llvm::ArrayRef<CudaSource> kernels) {
  // NVIDIA's headers come first: simt.h has its own of CUDA's words.
  std::string text = includesOf(merged(kernels, &CudaSource::headers)) + "#line 1 \"abi.h\"\n" +
                     embeddedText("abi.h").str() + "\n#line 1 \"simt.h\"\n" +
                     embeddedText("simt.h").str();
  for (const std::string &skeleton : merged(kernels, &CudaSource::skeletons))
    text += "\n#line 1 \"" + skeleton + ".cuh\"\n" + embeddedText(skeleton + ".cuh").str();
  for (const CudaSource &kernel : kernels) {
    if (kernel.functions.empty())
      continue;
    // A name of its own in all files: the linker takes equal instances of skeletons for one.
    std::string scope = "problem_" + kernel.functions.front();
    text += "\nnamespace " + scope + " {\n#line 1 \"" + kernel.functions.front() + ".cu\"\n" +
            kernel.text + "} // namespace\n";
    for (unsigned phase = 0; phase < kernel.functions.size(); ++phase)
      text += entryText(kernel, phase, scope);
  }
  leaveLoops(text);
  return text;
}

//===------------------------------------------------------------------------------------------===//
// The compiler
//===------------------------------------------------------------------------------------------===//

llvm::Expected<HostCompiler> HostCompiler::find() {
  for (const char *name : {"clang++-22", "clang++", "g++", "c++"}) {
    llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
    fs::file_status status;
    if (!path || fs::status(*path, status))
      continue;
    std::string identity =
        *path + " " + std::to_string(status.getSize()) + " " +
        std::to_string(status.getLastModificationTime().time_since_epoch().count());
    return HostCompiler{*path, identity};
  }
  return llvm::createStringError("no C++ compiler found: --target=cuda:simt needs clang++-22, "
                                 "clang++, g++ or c++ in the path");
}

/// Code for any processor with AVX2 that needs nothing but memcpy, memmove and memset; fibers have
/// small stacks and no unwinder. Lightly optimised: most of it runs for less time than it compiles.
static const char *const flags[] = {"-x",
                                    "c++",
                                    "-std=c++20",
                                    "-O1",
                                    "-march=x86-64-v3",
                                    "-ffp-contract=fast",
                                    "-fwrapv",
                                    "-fno-math-errno",
                                    "-fPIC",
                                    "-ffreestanding",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-stack-protector",
                                    "-fno-asynchronous-unwind-tables",
                                    "-fno-threadsafe-statics",
                                    "-fvisibility=hidden",
                                    "-w",
                                    "-c"};

llvm::Expected<std::string>
HostCompiler::compile(StringRef text, llvm::ArrayRef<std::string> includeFolders) const {
  auto folder = toExpected(dlc::runtime::ScratchFolder::create());
  if (!folder)
    return folder.takeError();
  llvm::Expected<std::string> source = toExpected(folder->write("kernels.cpp", text));
  if (!source)
    return source.takeError();
  std::string object = folder->pathOf("kernels.o"), log = folder->pathOf("log");
  std::vector<StringRef> arguments = {path};
  llvm::append_range(arguments, flags);
  for (const std::string &folder : includeFolders)
    llvm::append_range(arguments, std::initializer_list<StringRef>{"-isystem", folder});
  llvm::append_range(arguments, std::initializer_list<StringRef>{*source, "-o", object});
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  std::string message;
  int result = llvm::sys::ExecuteAndWait(path, arguments, std::nullopt, redirects, 0, 0, &message);
  auto output = llvm::MemoryBuffer::getFile(object);
  if (result == 0 && output)
    return (*output)->getBuffer().str();
  auto words = llvm::MemoryBuffer::getFile(log);
  for (StringRef line : llvm::split(words ? (*words)->getBuffer() : StringRef(), '\n'))
    if (line.contains("error") && message.empty())
      message = line.str();
  return llvm::createStringError(path +
                                 " cannot compile the kernels for the SIMT device: " + message);
}
