//===- Options.cpp - the command line of dlc ------------------------------------------------------------------------===//
#include "tools/dlc/Options.h"
#include "passes/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

namespace dlc::tool {

static const std::vector<std::pair<std::string, Emit>> &emits() {
  static const std::vector<std::pair<std::string, Emit>> all = {
      {"names", Emit::Names},   {"dl", Emit::DL},         {"dl-train", Emit::DLTrain}, {"dl-fused", Emit::DLFused},
      {"exec", Emit::Exec},     {"report", Emit::Report}, {"kernels", Emit::Kernels},  {"asm", Emit::Assembly},
      {"cuda", Emit::Cuda},     {"ptx", Emit::PTX}};
  return all;
}

/// Fails for a value that is not one of `expected`.
static CLI::Validator oneOf(std::vector<std::string> expected) {
  return CLI::Validator(
      [expected](std::string &value) {
        if (llvm::is_contained(expected, value))
          return std::string();
        return "found '" + value + "', expected one of " + llvm::join(expected, ", ");
      },
      "");
}

template <typename Range> static std::vector<std::string> keysOf(const Range &range) {
  std::vector<std::string> keys;
  for (const auto &entry : range)
    keys.push_back(entry.first);
  return keys;
}

static void addProvider(CLI::App &app, const char *flag, bool &own, const char *text) {
  app.add_option_function<std::string>(flag, [&own](const std::string &value) { own = value == "own"; }, text)
      ->check(oneOf({"own", "library"}))->option_text("WHOSE");
}

static void addOptions(CLI::App &app, Options &options, std::string &emit) {
  std::vector<std::string> passes;
  for (llvm::StringRef flag : improvingPasses())
    passes.push_back(flag.str());
  app.add_option("model", options.input, "model file (.dl) to compile, training step included, into one library")->required()->option_text(" ");
  app.add_option("-o", options.output, "output file; default: the model's name with .so, or text to stdout")->option_text("FILE");
  app.add_option("-D", options.defines, "value of a constant or dimension: -D N=32")->option_text("NAME=VALUE")->allow_extra_args(false);
  app.add_option("-I", options.includeDirs, "folder to look for imports in")->option_text("DIR")->allow_extra_args(false);
  app.add_option("--target", options.target, "cpu (default), cpu:avx2, cpu:avx512, cuda or cuda:sm_80,simt")
      ->check(checkTarget)->option_text("T");
  addProvider(app, "--gemm", options.ownProducts, "whose products on CUDA: own, or library (default): cuBLASLt");
  addProvider(app, "--conv-algorithm", options.ownConvolutions, "whose convolutions on CUDA: own, or library (default): cuDNN");
  app.add_option("--cudnn-device", options.cudnnDevice, "choose cuDNN's engines now, for the GPU that `dlc-run device` described")
      ->option_text("FILE");
  app.add_option("--emit", emit, "names, dl, dl-train, dl-fused, exec, report, kernels, asm, cuda, ptx")
      ->check(oneOf(keysOf(emits())))->option_text("WHAT");
  app.add_option("--check-names", options.checkNames, "fail if --emit=names differs from this earlier list")->option_text("FILE");
  app.add_option("--train", options.trainSection, "which train section to compile")->option_text("NAME");
  app.add_option("--infer-batch", options.inferBatches, "batch sizes of the inference entries: 1,16")
      ->delimiter(',')->check(CLI::Range(int64_t(1), int64_t(1) << 32))->option_text("N,...")->allow_extra_args(false);
  app.add_flag("--input-gradients", options.inputGradients, "training steps also return the gradients of their inputs");
  app.add_option_function<std::string>("-W", [&](const std::string &) { options.warningsAreErrors = true; },
                                       "-Werror: a warning is an error")->check(oneOf({"error"}))->option_text("error");
  app.add_option("--threads", options.threads, "threads that compile kernels; default: one a core")
      ->check(CLI::Range(1u, 4096u))->option_text("N");
  app.add_flag_callback("--no-cache", [&] { options.cache = false; }, "compile all kernels, keep none in the cache");
  app.add_option("--disable-pass", options.disabledPasses, "leave out a pass that only improves; a wrong name lists them")
      ->check(oneOf(passes))->option_text("PASS")->allow_extra_args(false);
}

std::optional<Options> parseCommandLine(int argc, char **argv, int &exitCode) {
  CLI::App app("", "dlc");
  app.set_version_flag("--version", "dlc " DLC_VERSION);
  app.get_formatter()->column_width(28);
  Options options;
  std::string emit;
  addOptions(app, options, emit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    // Without the library's empty lines at the end it fits on one screen.
    std::cout << llvm::StringRef(app.help()).rtrim().str() << "\n";
    return std::nullopt;
  } catch (const CLI::Success &success) {
    std::ostringstream text; // without the empty line at its end
    exitCode = app.exit(success, text);
    std::cout << llvm::StringRef(text.str()).rtrim().str() << "\n";
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    std::cerr << "dlc: error: " << error.what() << "\ndlc --help lists the options\n";
    exitCode = 2;
    return std::nullopt;
  }
  for (const auto &[name, value] : emits())
    if (name == emit)
      options.emit = value;
  if (options.output.empty() && options.emit == Emit::Module)
    options.output = (llvm::sys::path::stem(options.input) + ".so").str();
  return options;
}

} // namespace dlc::tool
