//===- Pipelines.cpp - the order of all passes ------------------------------------------------===//
//
// Reads as the story of a program, each pass with the reason for its place. Passes that only
// improve are added through `improve`, which leaves out those that the user has switched off.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Pipelines.h"
#include "dialects/DL/Ops/DLEntryOps.h"
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
                                        "dl-fold-batch-norm",
                                        "cse",
                                        "dl-sparsify-updates",
                                        "dl-narrow-variables",
                                        "dl-derive-variables",
                                        "dl-divide-concats",
                                        "dl-fuse",
                                        "dl-choose",
                                        "dl-join",
                                        "dl-join-product-gradients",
                                        "dl-join-reductions",
                                        "dl-join-prologues",
                                        "dl-join-updates",
                                        "dl-pack-indices",
                                        "dl-schedule",
                                        "dl-bucket-gradients",
                                        "exec-prepare-operands",
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

/// Adds dl-join with the patterns of a stage that the user has not switched off.
static void join(OpPassManager &manager, const DLPipelineOptions &options,
                 dl::JoinPattern::Stage stage) {
  if (!options.candidates || !isEnabled(options, "dl-join"))
    return;
  dl::JoinOptions joins;
  for (const dl::JoinPattern &pattern : dl::joinPatterns())
    if (pattern.stage == stage && isEnabled(options, ("dl-join-" + pattern.name).str()))
      joins.patterns.push_back(pattern.name);
  using Recompute = DLPipelineOptions::Recompute;
  joins.savesMemory = options.recompute == Recompute::Cheap && options.memoryBudget == 0;
  manager.addNestedPass<dl::EntryOp>(dl::createJoin(options.candidates, std::move(joins)));
}

void dlc::addTrainPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // Before differentiation, so that the gradient of a cast is the cast back; before all that may
  // make new ops of those that say what they want to compute in.
  manager.addPass(dl::createAssignPrecision());

  // Before differentiation, so that what is simplified is not differentiated first: relu behind
  // max_pool also moves its mask in the backward pass to the smaller tensor.
  improve(manager, options, dl::createSimplify());

  // Before differentiation, which takes the loss as it is shared, and the gradients of what goes
  // over ranks.
  manager.addPass(dl::createDistribute());

  // On the graph as the user wrote it, before layout and fusion: rules know single ops only.
  manager.addPass(dl::createDifferentiate());

  // Before anything is spent on gradients that nobody asked for.
  manager.addNestedPass<dl::EntryOp>(dl::createPruneGradients({options.keepInputGradients}));

  // On the composite, before its formula takes its place; only where nothing is differentiated.
  if (isEnabled(options, "dl-fold-batch-norm"))
    manager.addPass(dl::createFoldBatchNorm());

  // Behind differentiation, which takes a composite's own gradient, and behind what chooses by
  // layers. Before the passes below, since a formula holds constants and repeats what its
  // gradient's formula computes.
  manager.addNestedPass<dl::EntryOp>(dl::createDecompose());

  // Gradient rules do not look at constants, and ask for the same thing twice: the seed of 1 folds
  // into the loss's gradient.
  improve(manager, options, dl::createSimplify());
  improve(manager, options, createCSEPass());

  // Needs the gradients; before fusion, so that an update may join the kernel that computes its
  // gradient.
  manager.addPass(dl::createBuildUpdate({options.keepWeightGradients, options.compress}));

  // Behind the update, whose rule says whether rows without a gradient stay as they are.
  improve(manager, options, dl::createSparsifyUpdates());

  // When each read is cast once; before what is derived, which would keep both.
  if (isEnabled(options, "dl-narrow-variables"))
    manager.addPass(dl::createNarrowVariables());

  // Behind what decides which variables evaluation and inference read; before fusion, which would
  // compute folded weights in each kernel that reads them.
  if (isEnabled(options, "dl-derive-variables"))
    manager.addPass(dl::createDeriveVariables());
}

void dlc::addFusionPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // Before all that stores, lays out and orders: the parts are tensors and kernels of their own.
  if (options.memoryFitter)
    manager.addPass(dl::createDivideBatch({}, options.memoryFitter));

  addRegionPasses(manager, options);
}

void dlc::addRegionPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // Before fusion, which would have each element chosen among all parts: behind it they are memory
  // of the whole, or few.
  improve(manager, options, dl::createDivideConcats());

  // When all ops are there. Regions are what becomes a kernel, so without fusion each op has its
  // own.
  manager.addNestedPass<dl::EntryOp>(
      dl::createFuse({isEnabled(options, "dl-fuse")}, options.candidates));

  // Regions that dl-fuse keeps apart, where the target computes them together in less time: what
  // candidates for a joined region there are must be known when one is chosen.
  using enum dl::JoinPattern::Stage;
  join(manager, options, BeforeChoice);

  // On regions, since only what goes into one or comes out of one is stored, and a region is what a
  // candidate runs. On all entries at once, which share their variables' layouts.
  if (options.candidates && isEnabled(options, "dl-choose"))
    manager.addPass(
        dl::createChoose(options.candidates, isEnabled(options, "exec-prepare-operands")));

  // What joins by the layouts and the code that were chosen. Before dl-rematerialize, which would
  // have images computed again by kernels of their own, and before the order, in which an update
  // stands behind what reads the variables as they were.
  join(manager, options, BehindChoice);

  // On layouts, which say what a vector of an index is; before all that asks for its bytes.
  improve(manager, options, dl::createPackIndices());

  // On regions, since these are what is executed and what memory is allocated for. Last: everything
  // behind it takes the order of the block as the order of execution.
  improve(manager, options, dl::createSchedule());

  // On regions in the order of execution: these say which values are stored, how long, and what it
  // would take to compute them again. Behind fusion and CSE, which would make one of the two.
  using Recompute = DLPipelineOptions::Recompute;
  if (options.recompute != Recompute::None)
    manager.addPass(dl::createRematerialize(
        {options.recompute == Recompute::Cheap, options.memoryBudget, options.refuseEarly},
        options.memoryPlanner));

  addBucketPasses(manager, options);
}

void dlc::addBucketPasses(OpPassManager &manager, const DLPipelineOptions &options) {
  // In the order of execution and with the times of what was chosen: these say which reductions can
  // be hidden. Finds none in a module that is not data-parallel.
  improve(manager, options, dl::createBucketGradients(options.buckets));
}

void dlc::addConversionPasses(OpPassManager &manager) {
  // The border between values and memory. Kernels are chosen behind it, when equal ones are one,
  // and before anything asks for their workspace and cost.
  manager.addPass(createConvertDLToExec());
}

void dlc::addPlanPasses(OpPassManager &manager, const DLPipelineOptions &options,
                        const exec::ScheduleStreamsOptions &streams) {
  // Behind selection, which says what kernels make of their operands first; before streams, as it
  // makes records.
  if (isEnabled(options, "exec-prepare-operands"))
    manager.addPass(exec::createPrepareOperands());
  addStreamPasses(manager, options, streams);
}

void dlc::addStreamPasses(OpPassManager &manager, const DLPipelineOptions &options,
                          const exec::ScheduleStreamsOptions &streams) {
  // On logical buffers: sharing of memory must not order what could run at the same time.
  manager.addPass(exec::createScheduleStreams(streams));

  // Lifetimes need the order between streams. Switched off, each buffer has a place of its own.
  bool reuse = isEnabled(options, "exec-plan-memory");
  manager.addPass(exec::createPlanMemory({reuse}));

  // Nothing is written to a file that has not been proved to be ordered.
  manager.addPass(exec::createVerify());
}

namespace {
/// The source of candidates as text, for dlc-opt.
template <typename Flags> struct TargetFlags : PassPipelineOptions<Flags> {
  detail::PassOptions::Option<std::string> target{
      *this, "target", llvm::cl::desc("ask what its generators offer: cpu, cuda:sm_90, ...")};
};
struct ChooseFlags : TargetFlags<ChooseFlags> {};
struct JoinFlags : TargetFlags<JoinFlags> {
  ListOption<std::string> patterns{*this, "patterns", llvm::cl::desc("all, if none is named")};
};
/// DLPipelineOptions as text.
struct PipelineFlags : TargetFlags<PipelineFlags> {
  Option<bool> keepInputGradients{*this, "keep-input-gradients",
                                  llvm::cl::desc("keep the gradients of inputs"),
                                  llvm::cl::init(false)};
  Option<bool> keepWeightGradients{*this, "keep-weight-gradients",
                                   llvm::cl::desc("keep the gradients of variables"),
                                   llvm::cl::init(false)};
  ListOption<std::string> disable{*this, "disable",
                                  llvm::cl::desc("improving passes to leave out")};
};
} // namespace

using Fail = function_ref<LogicalResult(const Twine &)>;
using Sources = dl::CandidateSources;

/// Null without a target.
template <typename Flags>
static FailureOr<std::shared_ptr<dl::CandidateSource>> makeSource(const Sources &sources,
                                                                  const Flags &flags, Fail fail) {
  if (flags.target.empty())
    return std::shared_ptr<dl::CandidateSource>();
  auto source = sources(flags.target);
  if (!source)
    return fail(llvm::toString(source.takeError()));
  return *source;
}

static LogicalResult buildPipeline(OpPassManager &manager, StringRef text, const Sources &sources,
                                   Fail fail) {
  PipelineFlags flags;
  if (failed(flags.parseFromString(text)))
    return failure();
  for (const std::string &flag : flags.disable)
    if (!llvm::is_contained(improvingPasses(), flag))
      return fail("'" + flag + "' is not an improving pass: expected one of " +
                  llvm::join(improvingPasses(), ", "));
  auto source = makeSource(sources, flags, fail);
  if (failed(source))
    return failure();
  DLPipelineOptions options{flags.keepInputGradients,
                            flags.keepWeightGradients,
                            {flags.disable.begin(), flags.disable.end()},
                            *source};
  addTrainPasses(manager, options);
  addFusionPasses(manager, options);
  return success();
}

/// A pass that takes a source of candidates, by its name.
template <typename Flags>
static void registerAsking(StringRef name, StringRef description, const Sources &sources,
                           LogicalResult (*add)(OpPassManager &,
                                                std::shared_ptr<dl::CandidateSource>, const Flags &,
                                                Fail)) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &manager, StringRef text, Fail fail) -> LogicalResult {
        Flags flags;
        if (failed(flags.parseFromString(text)))
          return failure();
        auto source = makeSource(sources, flags, fail);
        if (failed(source))
          return failure();
        if (!*source)
          return fail("expected the option 'target'");
        return add(manager, *source, flags, fail);
      },
      [](function_ref<void(const detail::PassOptions &)> handle) { handle(Flags()); });
}

static LogicalResult addChoose(OpPassManager &manager, std::shared_ptr<dl::CandidateSource> source,
                               const ChooseFlags &, Fail) {
  manager.addPass(dl::createChoose(std::move(source), /*prepares=*/true));
  return success();
}

static LogicalResult addJoin(OpPassManager &manager, std::shared_ptr<dl::CandidateSource> source,
                             const JoinFlags &flags, Fail fail) {
  auto names = llvm::map_to_vector(dl::joinPatterns(),
                                   [](const dl::JoinPattern &pattern) { return pattern.name; });
  for (const std::string &name : flags.patterns)
    if (!llvm::is_contained(names, name))
      return fail("'" + name + "' is not a pattern: expected one of " + llvm::join(names, ", "));
  dl::JoinOptions options;
  for (StringRef name : names)
    if (flags.patterns.empty() || llvm::is_contained(flags.patterns, name))
      options.patterns.push_back(name);
  manager.addNestedPass<dl::EntryOp>(dl::createJoin(std::move(source), std::move(options)));
  return success();
}

void dlc::registerPipelines(dl::CandidateSources sources) {
  registerPassPipeline(
      "dl-pipeline", "all passes on the dl dialect",
      [=](OpPassManager &manager, StringRef text, Fail fail) {
        return buildPipeline(manager, text, sources, fail);
      },
      [](function_ref<void(const detail::PassOptions &)> handle) { handle(PipelineFlags()); });
  registerAsking<ChooseFlags>("dl-choose", "chooses layouts and code for a target", sources,
                              addChoose);
  registerAsking<JoinFlags>(
      "dl-join", "joins regions that the target computes together in less time than apart", sources,
      addJoin);
  PassPipelineRegistration<>("exec-pipeline",
                             "from dl.fused to a plan for one stream, without choosing kernels",
                             [](OpPassManager &manager) {
                               addConversionPasses(manager);
                               addPlanPasses(manager, {}, {});
                             });
}
