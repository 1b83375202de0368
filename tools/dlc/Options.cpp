//===- Options.cpp - the command line of dlc --------------------------------------------------===//
#include "tools/dlc/Options.h"
#include "dlc/version.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "passes/Pipelines.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/dlc/CommonOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

namespace dlc::tool {

static const std::vector<std::pair<std::string, Emit>> &emits() {
  static const std::vector<std::pair<std::string, Emit>> all = {
      {"names", Emit::Names},      {"dl", Emit::DL},          {"dl-train", Emit::DLTrain},
      {"dl-fused", Emit::DLFused}, {"exec", Emit::Exec},      {"report", Emit::Report},
      {"kernels", Emit::Kernels},  {"asm", Emit::Assembly},   {"cuda", Emit::Cuda},
      {"ptx", Emit::PTX},          {"machine", Emit::Machine}};
  return all;
}

static const std::vector<std::pair<std::string, codegen::Math>> &maths() {
  static const std::vector<std::pair<std::string, codegen::Math>> all = {
      {"float32", codegen::Math::Float32}, {"strict", codegen::Math::Strict}};
  return all;
}

using codegen::ImageLayout;

static const std::vector<std::pair<std::string, ImageLayout>> &layouts() {
  static const std::vector<std::pair<std::string, ImageLayout>> all = {
      {"heuristic", ImageLayout::Heuristic},
      {"row-major", ImageLayout::RowMajor},
      {"nchw16c", ImageLayout::Blocks},
      {"channels-last", ImageLayout::ChannelsLast}};
  return all;
}

using Recompute = DLPipelineOptions::Recompute;

static const std::vector<std::pair<std::string, Recompute>> &recomputations() {
  static const std::vector<std::pair<std::string, Recompute>> all = {{"none", Recompute::None},
                                                                     {"cheap", Recompute::Cheap}};
  return all;
}

template <typename Range> static std::vector<std::string> keysOf(const Range &range) {
  std::vector<std::string> keys;
  for (const auto &entry : range)
    keys.push_back(entry.first);
  return keys;
}

template <typename T>
static T valueOf(const std::vector<std::pair<std::string, T>> &entries, const std::string &key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto &entry) { return entry.first == key; })
      ->second;
}

static void addProvider(CLI::App &app, const char *flag, bool &own, const char *text) {
  app.add_option_function<std::string>(
         flag, [&own](const std::string &value) { own = value == "own"; }, text)
      ->check(oneOf({"own", "library"}))
      ->option_text("WHOSE");
}

void addLanguageOptions(CLI::App &app, const std::string &verb, std::vector<std::string> &defines,
                        std::vector<std::string> &includeDirs, std::string &trainSection) {
  app.add_option("-D", defines, "value of a constant or dimension: -D N=32")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("-I", includeDirs, "folder to look for imports in")
      ->option_text("DIR")
      ->allow_extra_args(false);
  app.add_option("--train", trainSection, "which train section to " + verb)->option_text("NAME");
}

/// What is written, and where.
static void addOutputOptions(CLI::App &app, Options &options, std::string &emit) {
  app.add_option("-o", options.output,
                 "output file; default: the model's name with .so, or text to stdout")
      ->check(fileName())
      ->option_text("FILE");
  app.add_option("--plan", options.plan, "take the code that 'dlc tune --plan FILE' chose")
      ->check(fileName())
      ->option_text("FILE");
  app.add_option("--emit", emit,
                 "names, dl, dl-train, dl-fused, exec, report, kernels, asm, cuda, ptx")
      ->check(oneOf(keysOf(emits())))
      ->option_text("WHAT");
  app.add_option("--html", options.page, "write --emit=report as a page for a browser")
      ->check(fileName())
      ->option_text("FILE");
  app.add_option("--bench", options.measurements,
                 "times in it: what dlc-run bench --layers --json printed")
      ->check(fileName())
      ->option_text("FILE");
  app.add_option("--check-names", options.checkNames,
                 "fail if --emit=names differs from this earlier list")
      ->option_text("FILE");
}

/// "1048576", "512MiB", "4.5GiB": bytes; nothing for other texts.
static std::optional<int64_t> parseBytes(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringRef, int> units[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  int shift = 0;
  for (auto [unit, bits] : units)
    if (shift == 0 && text.consume_back(unit))
      shift = bits;
  double number = 0;
  if (text.trim().getAsDouble(number) || !(number >= 1) ||
      (shift == 0 && number != std::floor(number)))
    return std::nullopt;
  const double bytes = std::ldexp(number, shift);
  return bytes <= 0x1p50 ? std::optional(int64_t(bytes)) : std::nullopt;
}

/// What is computed twice to need less memory.
static void addMemoryOptions(CLI::App &app, Options &options) {
  app.add_option_function<std::string>(
         "--rematerialize",
         [&](const std::string &value) { options.recompute = valueOf(recomputations(), value); },
         "none (default); cheap: compute again what takes little, to save memory")
      ->check(oneOf(keysOf(recomputations())))
      ->option_text("WHAT");
  app.add_option_function<std::string>(
         "--memory-budget",
         [&](const std::string &text) { options.memoryBudget = *parseBytes(text); },
         "most memory of a step, as 4GiB: compute again what it takes")
      ->check(CLI::Validator(
          [](std::string &text) {
            return parseBytes(text)
                       ? std::string()
                       : "expected bytes or a number of KiB, MiB or GiB, found '" + text + "'";
          },
          ""))
      ->option_text("BYTES");
}

/// What decides which kernels there are, and how they may be computed.
static void addOptions(CLI::App &app, Options &options) {
  std::vector<std::string> passes;
  for (llvm::StringRef flag : improvingPasses())
    passes.push_back(flag.str());
  addLanguageOptions(app, "compile", options.defines, options.includeDirs, options.trainSection);
  app.add_option("--target", options.target,
                 "cpu (default), cpu:avx2, cpu:neon, cuda or cuda:sm_80,simt")
      ->check(checkTarget)
      ->option_text("T");
  app.add_option("--machine", options.machine,
                 "how fast the target is, to choose code by: as --emit=machine writes")
      ->check(fileName())
      ->option_text("FILE");
  addProvider(app, "--gemm", options.ownProducts,
              "whose products on CUDA: own, or library (default): cuBLASLt");
  app.add_option_function<std::string>(
         "--conv-algorithm",
         [&](const std::string &value) {
           // Words are checked when the target is known.
           const auto *foreign = frontend::findForeignAlgorithm(value);
           options.foreignConvolutions = foreign ? value : "";
           const std::string native = foreign ? foreign->native.str() : value;
           options.convolutions = native == "heuristic" ? "" : native;
         },
         "heuristic, gemm, winograd, fft; CPU: direct; CUDA: library, own")
      ->option_text("WHICH");
  app.add_option_function<std::string>(
         "--layout", [&](const std::string &value) { options.layout = valueOf(layouts(), value); },
         "of images on the CPU: heuristic, row-major, nchw16c, channels-last")
      ->check(oneOf(keysOf(layouts())))
      ->option_text("WHICH");
  app.add_option("--cudnn-device", options.cudnnDevice,
                 "choose cuDNN's engines now, for the GPU that `dlc-run device` described")
      ->option_text("FILE");
  app.add_option_function<std::string>(
         "--math", [&](const std::string &value) { options.math = valueOf(maths(), value); },
         "float32 (default); strict: errs like sums in order")
      ->check(oneOf(keysOf(maths())))
      ->option_text("HOW");
  app.add_option("--precision", options.precision,
                 "of products if the section states none: f32 (default), bf16, f16, tf32")
      ->check(oneOf({"f32", "bf16", "f16", "tf32"}))
      ->option_text("TYPE");
  app.add_option("--workspace-limit", options.workspaceLimitMiB,
                 "most memory for a step's workspaces; default: none, of cuDNN 16")
      ->check(wholeNumber(0, uint64_t(1) << 20))
      ->option_text("MIB");
  addMemoryOptions(app, options);
  app.add_option("--infer-batch", options.inferBatches,
                 "batch sizes of the inference entries: 1,16")
      ->delimiter(',')
      ->check(wholeNumber(1, uint64_t(1) << 32))
      ->option_text("N,...")
      ->allow_extra_args(false);
  app.add_option("--infer-precision", options.inferPrecision,
                 "of inference, where its section states none; default: as trained")
      ->check(oneOf({"f32", "bf16", "f16", "tf32"}))
      ->option_text("TYPE");
  app.add_flag("--input-gradients", options.inputGradients,
               "training steps also return the gradients of their inputs");
  app.add_flag("--weight-gradients", options.weightGradients,
               "training steps also return the gradients of what they update");
  app.add_flag("--data-parallel", options.dataParallel,
               "for several ranks: training steps sum their gradients");
  app.add_option("--compress", options.compress,
                 "sum large gradients over ranks as bf16, f16, 1bit or top-k")
      ->check(oneOf({"bf16", "f16", "1bit", "top-k"}))
      ->option_text("HOW");
  app.add_option("--bucket-size", options.bucketBytes,
                 "most bytes of gradients summed at once; default: by --link")
      ->check(wholeNumber(1, uint64_t(1) << 40))
      ->option_text("BYTES");
  app.add_option_function<std::string>(
         "--link", [&](const std::string &text) { options.link = *parseLink(text); },
         "seconds of a sum over ranks and of each byte of it: 5e-5,1.6e-9")
      ->check(linkTimes())
      ->option_text("A,B");
  app.add_option_function<std::string>(
         "-W", [&](const std::string &) { options.warningsAreErrors = true; },
         "-Werror: a warning is an error")
      ->check(oneOf({"error"}))
      ->option_text("error");
  app.add_option("--threads", options.threads,
                 "threads that choose and compile kernels; default: one a core")
      ->check(wholeNumber(1, 4096))
      ->option_text("N");
  app.add_flag_callback(
      "--no-cache", [&] { options.cache = false; }, "compile all kernels, keep none in the cache");
  app.add_option("--disable-pass", options.disabledPasses,
                 "leave out a pass that only improves; a wrong name lists them")
      ->check(oneOf(passes))
      ->option_text("PASS")
      ->allow_extra_args(false);
}

std::string advise(const std::string &word) {
  static const std::map<std::string, std::string> known = {
      {"--output", "did you mean '-o'?"},
      {"--out", "did you mean '-o'?"},
      {"--define", "did you mean '-D'?"},
      {"--include", "did you mean '-I'?"},
      {"-O", "code is always optimised; --disable-pass leaves a pass out"},
      {"--gpu", "did you mean '--target=cuda'?"},
      {"--cuda", "did you mean '--target=cuda'?"},
      {"--device", "--target says what to compile for, dlc-run --device where it runs"},
      {"--lr", "dlc-run train --override optimizer.learning_rate=NUMBER sets it"},
      {"--learning-rate", "dlc-run train --override optimizer.learning_rate=NUMBER sets it"},
      {"--batch", "the train section sets it, -D N=64 overrides it"},
      {"--batch-size", "the train section sets it, -D N=64 overrides it"},
      {"--data", "dlc-run train has it"},
      {"--epochs", "dlc-run train has it"},
      {"--checkpoint", "dlc-run train has it"},
      {"--resume", "dlc-run train has it"},
      {"--deterministic",
       "what dlc compiles gives the same bits in every run and for any number of "
       "threads; dlc-run train --deterministic N does for ranks"},
      {"help", "did you mean '--help'?"},
      {"version", "did you mean '--version'?"},
      {"format", "did you mean 'fmt'?"},
      {"compile", "dlc MODEL.dl compiles"},
      {"build", "dlc MODEL.dl compiles"}};
  if (auto it = known.find(llvm::StringRef(word).starts_with("-O") ? "-O" : word);
      it != known.end())
    return it->second;
  for (const char *command :
       {"train", "eval", "infer", "bench", "inspect", "step", "device", "run"})
    if (word == command)
      return "dlc-run runs what dlc compiled: dlc MODEL.dl -o MODULE.so, then dlc-run " +
             std::string(word == "run" ? "train" : command) + " MODULE.so";
  if (llvm::sys::fs::exists(word + ".dl"))
    return "did you mean '" + word + ".dl'?";
  return "";
}

static void addModel(CLI::App &app, Options &options, const char *text) {
  app.add_option("model", options.input, text)->required()->option_text(" ");
}

/// What of the options cannot be together, an empty string where all can.
using Check = std::string (*)(const Options &options);

/// False if the program is to end with `exitCode`.
static bool readAndCheck(CLI::App &app, int argc, char **argv, Options &options,
                         const std::string &emit, Check check, int &exitCode) {
  if (const std::optional<int> ended = readCommandLine(app, argc, argv, advise)) {
    exitCode = *ended;
    return false;
  }
  if (!emit.empty())
    options.emit = valueOf(emits(), emit);
  if (options.memoryBudget > 0 && app.count("--rematerialize") == 0)
    options.recompute = Recompute::Any;
  if (const std::string conflict = check(options); !conflict.empty()) {
    llvm::errs() << "error: " << conflict << '\n';
    exitCode = WrongUsage;
    return false;
  }
  return true;
}

static std::string checkForTuning(const Options &options) {
  if (!options.measured.empty() && !(options.input.empty() && options.output.empty()))
    return "dlc tune --measure times kernels of its own: it takes no model and no --plan";
  if (llvm::is_contained(options.disabledPasses, "dl-choose"))
    return "dlc tune times what dl-choose chooses from, which --disable-pass leaves out";
  return checkForTarget(options);
}

std::optional<Options> parseTuneCommandLine(int argc, char **argv, int &exitCode) {
  CLI::App app("Times what may run a model's kernels on this machine, and writes down the fastest.",
               "dlc tune");
  Options options;
  // Instead of a model's kernels.
  const bool measures = std::any_of(argv, argv + argc, [](llvm::StringRef word) {
    return word == "--measure" || word.starts_with("--measure=");
  });
  addModel(app, options, "model file (.dl), compiled with the same options later");
  app.get_option("model")->required(!measures);
  app.add_option("--plan", options.output, "where to write what was chosen: model.plan.json")
      ->check(fileName())
      ->required(!measures)
      ->option_text("FILE");
  app.add_option("--measure", options.measured,
                 "alone: where to write how fast this machine is, for --machine")
      ->check(fileName())
      ->option_text("FILE");
  addOptions(app, options);
  showSeldom(app, {"--bucket-size", "--link", "--infer-precision"});
  if (!readAndCheck(app, argc, argv, options, "", checkForTuning, exitCode))
    return std::nullopt;
  return options;
}

std::optional<Options> parseCommandLine(int argc, char **argv, int &exitCode) {
  CLI::App app("", "dlc");
  app.set_version_flag("--version", "dlc " DLC_VERSION);
  Options options;
  std::string emit;
  addModel(app, options, "model file (.dl) or .mlir; also: dlc check, dlc fmt, dlc tune, dlc lsp");
  addOutputOptions(app, options, emit);
  addOptions(app, options);
  showSeldom(app, {"--bench", "--cudnn-device", "--machine", "--bucket-size", "--link",
                   "--infer-precision"});
  if (!readAndCheck(app, argc, argv, options, emit, checkForTarget, exitCode))
    return std::nullopt;
  if (options.output.empty() && options.emit == Emit::Module)
    options.output = (llvm::sys::path::stem(options.input) + ".so").str();
  return options;
}

} // namespace dlc::tool
