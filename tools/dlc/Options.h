//===- Options.h - the command line of dlc ------------------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_OPTIONS_H
#define DLC_TOOLS_DLC_OPTIONS_H

#include "codegen/Compile/Target.h"
#include "passes/Pipelines.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc::tool {

/// What to write instead of a module; in the order of compilation.
enum class Emit {
  Module,
  Machine,
  Names,
  DL,
  DLTrain,
  DLFused,
  Exec,
  Report,
  Kernels,
  Assembly,
  Cuda,
  PTX
};

struct Options {
  std::string input;
  std::string output; ///< empty: <model>.so for a module, standard output for text
  std::string target = "cpu";
  Emit emit = Emit::Module;
  std::string page;         ///< of --emit=report: for a browser; empty: none
  std::string measurements; ///< of the page: a file of dlc-run bench; empty: none
  std::vector<std::string> defines, includeDirs, disabledPasses;
  std::vector<int64_t> inferBatches;
  std::string trainSection;
  std::string checkNames;   ///< an earlier list of --emit=names; empty: none
  bool ownProducts = false; ///< CUDA: no library
  std::string convolutions; ///< CPU: an algorithm's name; CUDA: own or library; empty: default
  /// The word of another framework that stood for it, or empty.
  std::string foreignConvolutions;
  codegen::ImageLayout layout = codegen::ImageLayout::Heuristic; ///< CPU
  std::string plan;        ///< a file of dlc tune; empty: none
  std::string measured;    ///< of dlc tune: where to write how fast this machine is; empty: nowhere
  std::string machine;     ///< a file that says how fast the target is; empty: as dlc knows it
  std::string cudnnDevice; ///< CUDA: file with the properties of the GPU that cuDNN's engines are
                           ///< chosen for
  std::string precision = "f32"; ///< where the train section states none
  std::string inferPrecision;    ///< where an infer section states none; empty: as trained
  codegen::Math math = codegen::Math::Float32;
  /// Of each kernel, which take turns in it: of a step. Nothing: none on the CPU, 16 on CUDA.
  std::optional<uint64_t> workspaceLimitMiB;
  DLPipelineOptions::Recompute recompute = DLPipelineOptions::Recompute::None;
  int64_t memoryBudget = 0; ///< bytes of state and arena; 0: no limit
  bool inputGradients = false;
  bool weightGradients = false;
  bool dataParallel = false;
  std::string compress;    ///< how large gradients are summed: bf16, f16, 1bit, top-k; empty: as is
  int64_t bucketBytes = 0; ///< of gradients that ranks reduce together; 0: by `link`
  std::array<double, 2> link = {}; ///< seconds a reduction, and a byte; 0: defaults
  bool warningsAreErrors = false;
  bool cache = true;
  unsigned threads = 0;
};

/// What is wrong with the name of a target; empty if nothing is.
std::string checkTarget(const std::string &name);

/// Which flag does not go with the target; empty if all do.
std::string checkForTarget(const Options &options);

/// Reads the command line. Without a value the program is to end with `exitCode`: help, version or
/// an error was printed.
std::optional<Options> parseCommandLine(int argc, char **argv, int &exitCode);
/// The same for dlc tune, whose output is the plan.
std::optional<Options> parseTuneCommandLine(int argc, char **argv, int &exitCode);

} // namespace dlc::tool

#endif
