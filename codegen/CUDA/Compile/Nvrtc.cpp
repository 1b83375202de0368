//===- Nvrtc.cpp - see Nvrtc.h ----------------------------------------------------------------===//
#include "codegen/CUDA/Compile/Nvrtc.h"
#include "runtime/Device/CUDA/Toolkit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace dlc::codegen;
using llvm::StringRef;

//===------------------------------------------------------------------------------------------===//
// The library
//===------------------------------------------------------------------------------------------===//

using Program = void *;
using Result = int; // 0: success

struct Nvrtc::Functions {
  Result (*version)(int *major, int *minor);
  Result (*create)(Program *, const char *text, const char *name, int headers,
                   const char *const *headerTexts, const char *const *headerNames);
  Result (*compile)(Program, int count, const char *const *options);
  Result (*destroy)(Program *);
  Result (*logSize)(Program, size_t *);
  Result (*log)(Program, char *);
  Result (*cubinSize)(Program, size_t *);
  Result (*cubin)(Program, char *);
  Result (*ptxSize)(Program, size_t *);
  Result (*ptx)(Program, char *);
};

llvm::Expected<const Nvrtc *> Nvrtc::load() {
  static Functions functions;
  static const std::pair<Nvrtc, std::string> loaded = [] {
    Nvrtc nvrtc;
    void *library =
        dlc::runtime::openCudaLibrary({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                                      dlc::runtime::CudaLibrary::OfToolkit)
            .handle;
    if (!library)
      return std::pair(nvrtc,
                       std::string("no CUDA toolkit found: --target=cuda:sm_<N> needs NVRTC "
                                   "(libnvrtc.so in $CUDA_HOME/lib64, build/cuda/lib64, the "
                                   "library path or /usr/local/cuda/lib64), which "
                                   "scripts/install-deps.sh --cuda brings; --target=cuda:simt "
                                   "does not"));
    bool complete = true;
    auto find = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      complete &= function != nullptr;
    };
    find(functions.version, "nvrtcVersion");
    find(functions.create, "nvrtcCreateProgram");
    find(functions.compile, "nvrtcCompileProgram");
    find(functions.destroy, "nvrtcDestroyProgram");
    find(functions.logSize, "nvrtcGetProgramLogSize");
    find(functions.log, "nvrtcGetProgramLog");
    find(functions.cubinSize, "nvrtcGetCUBINSize");
    find(functions.cubin, "nvrtcGetCUBIN");
    find(functions.ptxSize, "nvrtcGetPTXSize");
    find(functions.ptx, "nvrtcGetPTX");
    int major = 0, minor = 0;
    if (!complete || functions.version(&major, &minor) != 0)
      return std::pair(nvrtc, std::string("the NVRTC library found here is too old: expected "
                                          "version 12 or later"));
    nvrtc.call = &functions;
    nvrtc.versionText = std::to_string(major) + "." + std::to_string(minor);
    Dl_info place;
    if (dladdr(reinterpret_cast<void *>(functions.version), &place) && place.dli_fname)
      nvrtc.folderPath = llvm::sys::path::parent_path(place.dli_fname).str();
    return std::pair(nvrtc, std::string());
  }();
  if (!loaded.first.call)
    return llvm::createStringError(loaded.second);
  return &loaded.first;
}

//===------------------------------------------------------------------------------------------===//
// Compilation
//===------------------------------------------------------------------------------------------===//

/// The number in front of `unit` in a line of ptxas.
static uint32_t numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  uint32_t number = 0;
  before.take_back(before.size() - before.find_last_not_of("0123456789") - 1)
      .getAsInteger(10, number);
  return number;
}

/// Reads what ptxas says of each function:
///   ptxas info    : Compiling entry function 'f' for 'sm_90'
///   ptxas info    : Function properties for f
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 32 registers, used 1 barriers, 4224 bytes smem
static bool readFigures(StringRef log, llvm::ArrayRef<std::string> functions,
                        std::vector<FunctionFigures> &figures) {
  figures.resize(functions.size());
  std::vector<bool> found(functions.size());
  int current = -1;
  for (StringRef line : llvm::split(log, '\n')) {
    if (line.contains("Compiling entry function")) {
      current = -1;
      for (auto [i, function] : llvm::enumerate(functions))
        if (line.contains("'" + function + "'"))
          current = i;
    }
    if (current < 0)
      continue;
    if (line.contains("bytes spill stores"))
      figures[current].spillBytes = std::max(numberBefore(line, " bytes spill stores"),
                                             numberBefore(line, " bytes spill loads"));
    if (line.contains(" registers")) {
      figures[current].registers = numberBefore(line, " registers");
      figures[current].sharedBytes = numberBefore(line, " bytes smem");
      found[current] = true;
    }
  }
  return llvm::all_of(found, [](bool f) { return f; });
}

llvm::Expected<std::pair<KernelImage, KernelImage>>
Nvrtc::compile(StringRef text, unsigned architecture, llvm::ArrayRef<std::string> functions,
               llvm::ArrayRef<std::string> includeFolders) const {
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError(functions.front() + ": " + message);
  };
  Program program;
  if (call->create(&program, text.str().c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    return fail("NVRTC takes no program");
  std::vector<std::string> words = {"--gpu-architecture=sm_" + std::to_string(architecture),
                                    "--std=c++17", "--ptxas-options=-v"};
  for (const std::string &folder : includeFolders)
    words.push_back("--include-path=" + folder);
  std::vector<const char *> options;
  for (const std::string &word : words)
    options.push_back(word.c_str());
  Result result = call->compile(program, options.size(), options.data());
  auto read = [&](auto size, auto get) {
    size_t bytes = 0;
    std::string content;
    if (size(program, &bytes) != 0)
      return content;
    content.resize(bytes);
    if (get(program, content.data()) != 0)
      content.clear();
    return content;
  };
  std::string log = read(call->logSize, call->log);
  KernelImage cubin{DLC_IMAGE_CUBIN, architecture, read(call->cubinSize, call->cubin), {}};
  KernelImage ptx{DLC_IMAGE_PTX, architecture, read(call->ptxSize, call->ptx), {}};
  call->destroy(&program);
  if (result != 0 || cubin.bytes.empty() || ptx.bytes.empty())
    return fail("NVRTC " + version() + " for sm_" + llvm::Twine(architecture) +
                " failed: " + StringRef(log.c_str()).trim());
  if (!readFigures(log.c_str(), functions, cubin.figures))
    return fail("NVRTC " + version() + " does not say how many registers the kernel uses");
  return std::pair(std::move(cubin), std::move(ptx));
}
