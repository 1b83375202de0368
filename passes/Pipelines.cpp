//===- Pipelines.cpp - the order of all passes ------------------------------------------------===//
//
// Reads as the story of a program, each pass with the reason for its place. Passes that only
// improve are added through `improve`, which leaves out those that the user has switched off.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Pipelines.h"
#include "dialects/DL/DLProgramOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Conversion/Passes.h"
#include "passes/DL/Passes.h"
#include "passes/Exec/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;

ArrayRef<StringRef> dlc::improvingPasses() {
  static constexpr StringRef flags[] = {"dl-simplify",
                                        "cse",
                                        "dl-fuse",
                                        "dl-assign-layouts",
                                        "dl-fuse-product-gradients",
                                        "dl-schedule",
                                        "exec-plan-memory"};
  return flags;
}

static bool isEnabled(const DLPipelineOptions &options, StringRef flag) {
  return !llvm::is_contained(options.disable, flag);
}

/// Adds an improving pass that works on one entry.
static void improve(OpPassManager &manager, const DLPipelineOptions &options,
                    std::unique_ptr<Pass> pass) {
  if (isEnabled(options, pass->getArgument()))
    manager.addNestedPass<dl::EntryOp>(std::move(pass));
}

void dlc::addTrainPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // Before differentiation, so that what is simplified is not differentiated first: relu behind
  // max_pool also moves its mask in the backward pass to the smaller tensor.
  improve(manager, options, dl::createSimplify());

  // On the graph as the user wrote it, before precision, layout and fusion: rules know single ops
  // only.
  manager.addPass(dl::createDifferentiate());

  // Before anything is spent on gradients that nobody asked for.
  manager.addNestedPass<dl::EntryOp>(dl::createPruneGradients({options.keepInputGradients}));

  // Gradient rules do not look at constants, and ask for the same thing twice: the seed of 1 folds
  // into the loss's gradient.
  improve(manager, options, dl::createSimplify());
  improve(manager, options, createCSEPass());

  // Needs the gradients; before fusion, so that an update may join the kernel that computes its
  // gradient.
  manager.addPass(dl::createBuildUpdate());
}

void dlc::addFusionPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // When all ops are there. Regions are what becomes a kernel, so without fusion each op has its
  // own.
  manager.addNestedPass<dl::EntryOp>(dl::createFuse({isEnabled(options, "dl-fuse")}));

  // On regions, since only what goes into one or comes out of one is stored.
  if (options.channelsLast && isEnabled(options, "dl-assign-layouts"))
    manager.addPass(dl::createAssignLayouts());

  // Joins regions that dl-fuse keeps apart: only cuBLASLt has epilogues for them. Behind
  // dl-assign-layouts, as it takes row-major matrices only, and before their order is fixed.
  if (options.libraryProducts)
    improve(manager, options, dl::createFuseProductGradients());

  // On regions, since these are what is executed and what memory is allocated for. Last: everything
  // behind it takes the order of the block as the order of execution.
  improve(manager, options, dl::createSchedule());
}

void dlc::addConversionPasses(OpPassManager &manager) {
  // The border between values and memory. Kernels are chosen behind it, when equal ones are one,
  // and before anything asks for their workspace and cost.
  manager.addPass(createConvertDLToExec());
}

void dlc::addPlanPasses(OpPassManager &manager, const DLPipelineOptions &options, int64_t streams) {
  // On logical buffers: sharing of memory must not order what could run at the same time.
  manager.addPass(exec::createScheduleStreams({streams}));

  // Lifetimes need the order between streams. Switched off, each buffer has a place of its own.
  bool reuse = isEnabled(options, "exec-plan-memory");
  manager.addPass(exec::createPlanMemory({reuse}));

  // Nothing is written to a file that has not been proved to be ordered.
  manager.addPass(exec::createVerify());
}

namespace {
/// DLPipelineOptions as text, for dlc-opt.
struct PipelineFlags : PassPipelineOptions<PipelineFlags> {
  Option<bool> keepInputGradients{*this, "keep-input-gradients",
                                  llvm::cl::desc("keep the gradients of inputs"),
                                  llvm::cl::init(false)};
  Option<bool> channelsLast{*this, "channels-last",
                            llvm::cl::desc("convolutions want channels innermost"),
                            llvm::cl::init(false)};
  Option<bool> libraryProducts{*this, "library-products", llvm::cl::desc("products are cuBLASLt's"),
                               llvm::cl::init(false)};
  ListOption<std::string> disable{*this, "disable",
                                  llvm::cl::desc("improving passes to leave out")};
};
} // namespace

static LogicalResult buildPipeline(OpPassManager &manager, StringRef text,
                                   function_ref<LogicalResult(const Twine &)> fail) {
  PipelineFlags flags;
  if (failed(flags.parseFromString(text)))
    return failure();
  for (const std::string &flag : flags.disable)
    if (!llvm::is_contained(improvingPasses(), flag))
      return fail("'" + flag + "' is not an improving pass: expected one of " +
                  llvm::join(improvingPasses(), ", "));
  DLPipelineOptions options{flags.keepInputGradients,
                            {flags.disable.begin(), flags.disable.end()},
                            flags.channelsLast,
                            flags.libraryProducts};
  addTrainPasses(manager, options);
  addFusionPasses(manager, options);
  return success();
}

void dlc::registerPipelines() {
  registerPassPipeline(
      "dl-pipeline", "all passes on the dl dialect", buildPipeline,
      [](function_ref<void(const detail::PassOptions &)> handle) { handle(PipelineFlags()); });
  PassPipelineRegistration<>("exec-pipeline",
                             "from dl.fused to a plan for one stream, without choosing kernels",
                             [](OpPassManager &manager) {
                               addConversionPasses(manager);
                               addPlanPasses(manager, {}, /*streams=*/1);
                             });
}
