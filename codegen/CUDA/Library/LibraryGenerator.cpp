//===- LibraryGenerator.cpp - products by cuBLASLt, convolutions by cuDNN ---------------------===//
//
// A product is one call where its epilogue is one that cuBLASLt has: bias, addend, sums (see
// passes/DL/Fusion/FuseProductGradients.cpp). Else the call writes into the workspace, and a launch
// finishes the elements. So it is with ReLU: cuBLASLt's makes 0 of what is not a number, and only
// cuDNN's slowest engine promises to keep it; a run that has diverged must not look finite.
// A convolution takes its tensors with the
// channels innermost or not, as its math wants it. A tensor that lies so in memory is given as it
// is; else a launch turns it, with all that is fused in front of it. A result that lies so is the
// call's own, where its epilogue is one that cuDNN has: bias, addend behind the forward direction.
// Else another launch finishes it and brings it into its order.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Library/ConvolutionCall.h"
#include "codegen/CUDA/Library/LibraryCalls.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "codegen/CUDA/Text/Quads.h"
#include "codegen/Kernel/ScheduleFields.h"
#include "dialects/DL/Facts/Slice.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dlc/abi.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256;
/// An H100 gained nothing by NVIDIA's 32 MiB.
static const uint64_t productWorkspace = 4 << 20;
/// Of a convolution, where the user sets no limit.
static const uint64_t convolutionWorkspace = 16 << 20;

namespace {

class LibraryGenerator : public TextGenerator {
public:
  StringRef name() const override { return "library"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

} // namespace

/// The operand of the kernel that `value` is, row-major in memory.
static std::optional<unsigned> plainOperand(const KernelSpec &spec, Value value) {
  std::optional<unsigned> operand = storedOperand(value);
  if (operand && !program::PhysicalLayout::get(spec.operandTypes()[*operand]).rowMajor)
    return std::nullopt;
  return operand;
}

/// Memory of the workspace, given out piece by piece.
namespace {
class WorkspacePlan {
public:
  explicit WorkspacePlan(const KernelSpec &spec)
      : buffer(spec.operandTypes().size() + spec.resultTypes().size()) {}
  BufferPiece take(uint64_t bytes) {
    BufferPiece piece{buffer, total, bytes};
    total += llvm::alignTo(bytes, DLC_ALIGNMENT);
    return piece;
  }
  uint64_t bytes() const { return total; }

private:
  unsigned buffer;
  uint64_t total = 0;
};
} // namespace

//===------------------------------------------------------------------------------------------===//
// Time
//===------------------------------------------------------------------------------------------===//

/// Of tensor cores.
static double tensorCoreRate(CallType type, const GpuMachine &machine) {
  return type.dtype == DLC_F32 ? machine.tensorCoreOperationsPerSecond
                               : machine.halfOperationsPerSecond;
}

double codegen::callSeconds(double flops, double bytes, CallType type, const GpuMachine &machine) {
  return machine.kernelSeconds(bytes, 0, 1) + flops / (type.usesTensorCores()
                                                           ? tensorCoreRate(type, machine)
                                                           : machine.libraryOperationsPerSecond);
}

static uint64_t bytesOf(CallType type, int64_t elements) {
  return elements * (type.dtype == DLC_F32 ? sizeof(float) : sizeof(uint16_t));
}

/// Of a launch that moves elements to the workspace or from there.
static uint64_t movedBytes(CallType type, int64_t elements) { return 2 * bytesOf(type, elements); }
static double moveSeconds(CallType type, int64_t elements, const GpuMachine &machine) {
  return machine.kernelSeconds(movedBytes(type, elements), 0, 1);
}

/// What a schedule says behind the library's name.
static StringRef typeText(CallType type) {
  return type.dtype == DLC_BF16       ? ", bf16"
         : type.dtype == DLC_F16      ? ", f16"
         : type.math == DLC_MATH_TF32 ? ", TF32"
                                      : "";
}

//===------------------------------------------------------------------------------------------===//
// Epilogues
//===------------------------------------------------------------------------------------------===//

namespace {
/// What follows the anchor, as far as the library knows it: the bits of dlc_epilogue, and the
/// buffers of the call's own result and of each step that has one, in the order of the call.
struct Epilogue {
  uint32_t bits = 0;
  unsigned result = 0;
  SmallVector<unsigned> buffers;
};
/// The operand of the kernel that a value is, stored as the call's result is.
using StoredAlike = llvm::function_ref<std::optional<unsigned>(Value value)>;

/// Reads a kernel as a call with one of the library's epilogues.
class EpilogueMatcher {
public:
  /// A bias has an element for each index along `biasAxis`.
  EpilogueMatcher(const KernelSpec &spec, int64_t biasAxis, StoredAlike storedAlike)
      : spec(spec), biasAxis(biasAxis), storedAlike(storedAlike),
        anchor(spec.anchorOp()->getResult(0)), product(anchor.getDefiningOp<dl::MatmulOp>()),
        type(cast<RankedTensorType>(anchor.getType())) {}

  std::optional<Epilogue> match();

private:
  bool findWhole();
  bool takeStep(Operation *step, Value value);
  bool takeResult(unsigned number);
  bool takeSum(dl::ReduceOp sum, unsigned buffer);
  bool take(uint32_t step, std::optional<unsigned> buffer);

  const KernelSpec &spec;
  int64_t biasAxis;
  StoredAlike storedAlike;
  Value anchor;
  dl::MatmulOp product; ///< the anchor, or null: convolutions have no sums
  RankedTensorType type;
  Value whole; ///< the result that has the anchor's elements
  Epilogue epilogue;
};
} // namespace

/// Adds a step behind those that come before it, and its buffer. What has 16 bits is rounded before
/// each step.
bool EpilogueMatcher::take(uint32_t step, std::optional<unsigned> buffer) {
  if (!buffer || epilogue.bits >= step || !type.getElementType().isF32())
    return false;
  epilogue.bits |= step;
  epilogue.buffers.push_back(*buffer);
  return true;
}

/// The one result that is no sum.
bool EpilogueMatcher::findWhole() {
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number) {
    Value value = spec.result(number);
    if (spec.isSum(value))
      continue;
    if (whole)
      return false;
    whole = value;
    epilogue.result = spec.operandTypes().size() + number;
  }
  return bool(whole);
}

/// `step` is the one user of `value`, which has been computed so far.
bool EpilogueMatcher::takeStep(Operation *step, Value value) {
  auto index = dyn_cast<dl::IndexOp>(step);
  if (isa<dl::ConvertLayoutOp>(step) || (index && index.isView()))
    return true;
  auto sum = dyn_cast<dl::AddOp>(step);
  if (!sum)
    return false;
  Value other = sum.getA() == value ? sum.getB() : sum.getA();
  auto bias = other.getDefiningOp<dl::BroadcastOp>();
  bool isBias =
      bias && bias.getDims() == ArrayRef<int64_t>{biasAxis} &&
      cast<RankedTensorType>(bias.getX().getType()).getDimSize(0) == type.getDimSize(biasAxis);
  return isBias ? take(DLC_EPILOGUE_BIAS, plainOperand(spec, bias.getX()))
                : take(DLC_EPILOGUE_ADD, storedAlike(other));
}

/// Sums over k of an operand of a product alone.
bool EpilogueMatcher::takeSum(dl::ReduceOp sum, unsigned buffer) {
  if (sum.getAxes() != ArrayRef<int64_t>{0} || epilogue.bits != 0)
    return false;
  if (sum.getX() == product.getA() && product.getTransposeA())
    return take(DLC_EPILOGUE_SUMS_A, buffer);
  return sum.getX() == product.getB() && !product.getTransposeB() &&
         take(DLC_EPILOGUE_SUMS_B, buffer);
}

/// A result beside the whole one: of products of two matrices only.
bool EpilogueMatcher::takeResult(unsigned number) {
  if (!product || whole.getType() != type)
    return false;
  return takeSum(spec.result(number).getDefiningOp<dl::ReduceOp>(),
                 spec.operandTypes().size() + number);
}

/// Follows the chain from the anchor to the whole result, then looks at the others.
std::optional<Epilogue> EpilogueMatcher::match() {
  if (!findWhole())
    return std::nullopt;
  for (Value value = anchor; value != whole;) {
    if (!value.hasOneUse() || !takeStep(*value.user_begin(), value))
      return std::nullopt;
    value = value.user_begin()->getResult(0);
  }
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (spec.result(number) != whole && !takeResult(number))
      return std::nullopt;
  if (epilogue.bits >= DLC_EPILOGUE_SUMS_A && type.getRank() != 2)
    return std::nullopt;
  return epilogue;
}

static std::string describeEpilogue(const Epilogue &epilogue) {
  std::string text;
  for (auto [bit, name] : {std::pair(DLC_EPILOGUE_BIAS, " + bias"),
                           {DLC_EPILOGUE_ADD, " + addend"},
                           {DLC_EPILOGUE_SUMS_A, " + sums of a"},
                           {DLC_EPILOGUE_SUMS_B, " + sums of b"}})
    text += epilogue.bits & bit ? name : "";
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

std::optional<CallType> CallType::get(Operation *anchor) {
  const Type element = getElementTypeOrSelf(anchor->getResult(0));
  if (element.isF32())
    return CallType{DLC_F32, dl::isTF32(anchor) ? DLC_MATH_TF32 : DLC_MATH_STRICT};
  if (isSmallFloat(element))
    return CallType{element.isBF16() ? DLC_BF16 : DLC_F16};
  return std::nullopt;
}

bool codegen::libraryReadsStored(dl::AnchorOp anchor, const CudaTarget &target) {
  return anchor.getAnchor() == Anchor::Gemm && target.settings.products == Provider::Library &&
         CallType::get(anchor) && anchor.getFlops() != 0;
}

LibraryCall codegen::productCall(const ProductExtents &p, bool transposeA, bool transposeB,
                                 CallType type, std::optional<uint64_t> limit) {
  LibraryCall library;
  library.call.op = DLC_CALL_PRODUCT;
  library.call.transpose_a = transposeA;
  library.call.transpose_b = transposeB;
  llvm::copy(ArrayRef<int64_t>{p.batch, p.m, p.n, p.k, p.m * p.k, p.k * p.n, p.m * p.n},
             library.call.sizes);
  library.call.workspace_bytes = std::min(productWorkspace, limit.value_or(productWorkspace));
  library.call.math = type.math;
  library.call.dtype = type.dtype;
  return library;
}

static std::optional<Candidate> scheduleProduct(const KernelSpec &spec, const CudaTarget &target,
                                                dl::MatmulOp op) {
  ProductSizes s(op);
  const CallType type = *CallType::get(op);
  std::optional<unsigned> a = plainOperand(spec, op.getA()), b = plainOperand(spec, op.getB());
  if (!a || !b || s.batch * s.m * s.n * s.k == 0)
    return std::nullopt;
  WorkspacePlan workspace(spec);
  LibraryCall library = productCall({s.batch, s.m, s.n, s.k}, op.getTransposeA(),
                                    op.getTransposeB(), type, target.settings.workspaceLimit);
  std::optional<Epilogue> epilogue;
  auto isRowMajor = [](RankedTensorType type) {
    return program::PhysicalLayout::get(type).rowMajor;
  };
  auto storedAlike = [&](Value value) { return plainOperand(spec, value); };
  if (llvm::all_of(spec.resultTypes(), isRowMajor))
    epilogue = EpilogueMatcher(spec, op.getC().getType().getRank() - 1, storedAlike).match();
  if (epilogue) {
    library.call.epilogue = epilogue->bits;
    library.arguments = {{epilogue->result}, {*a}, {*b}};
    for (unsigned buffer : epilogue->buffers)
      library.arguments.push_back({buffer});
  } else {
    library.arguments = {workspace.take(bytesOf(type, s.batch * s.m * s.n)), {*a}, {*b}};
  }
  library.arguments.push_back(workspace.take(productWorkspace));
  Candidate candidate;
  candidate.schedule =
      epilogue ? "cuBLASLt" + describeEpilogue(*epilogue) : "cuBLASLt, finished by a launch";
  candidate.schedule += typeText(type);
  candidate.parameters = !epilogue;
  candidate.workspaceBytes = workspace.bytes();
  candidate.phases.push_back({1, 0, 0, std::make_shared<LibraryCall>(library)});
  candidate.cost = callSeconds(2.0 * s.batch * s.m * s.n * s.k, spec.bytes(), type, target.machine);
  if (!epilogue) {
    candidate.phases.push_back({blocksFor(s.batch * s.m * s.n, 4 * threads), 0});
    candidate.phases.back().sideBytes = movedBytes(type, s.batch * s.m * s.n);
    candidate.cost += moveSeconds(type, s.batch * s.m * s.n, target.machine);
  }
  return candidate;
}

/// The launch that finishes the elements, if there is one: four at a time, with one access to each
/// tensor that lies as the product does, or has an element for each of so many columns.
static FailureOr<KernelText> writeProduct(const KernelSpec &spec, bool finishes) {
  KernelText text(spec, {"map"});
  text.libraryPhase();
  if (!finishes)
    return text;
  if (spec.hasSums() || spec.hasReductionsBehind())
    return failure();
  auto type = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType());
  const int64_t elements = type.getNumElements();
  auto liesAlike = [&](RankedTensorType type) {
    return program::PhysicalLayout::get(type).rowMajor && type.getNumElements() == elements;
  };
  DeviceFunction function(spec, "body", {"i"});
  const Point own = function.linearPoint(function.index(0), elements);
  Quads quads(function);
  Value product = function.addValue("v", type.getElementType());
  quads.parameter("v", "partial", "i", type.getElementType());
  BodyEmitter body = function.bodyGiven(
      [&](unsigned number, const Point &point) { return quads.linearOperand(number, point, own); },
      [&](unsigned, const Point &point) { return point == own ? product : Value(); });
  for (auto [number, result] : llvm::enumerate(spec.resultTypes())) {
    const LogicalResult stored =
        liesAlike(result) ? quads.result(number, "i", body.emitStored(spec.result(number), own))
                          : storeAt(function, body, number, own);
    if (failed(stored))
      return failure();
  }
  text.constant("ELEMENTS", elements);
  text.constant("THREADS", threads);
  text.flag("QUADS", true);
  if (failed(text.add(function)))
    return failure();
  text.members(quads.mapMembers());
  text.storage(type.getElementType());
  text.phase(threads, "map");
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

/// Of cuDNN.
static double convolutionRate(const ConvolutionCall &c, CallType type, const GpuMachine &machine) {
  const dl::ConvolutionGeometry &g = c.geometry;
  const bool backward = c.op != DLC_CALL_CONVOLUTION, ofFilter = c.op == DLC_CALL_BACKWARD_FILTER;
  // No engine without tensor cores knows images.
  if (g.channels < 4)
    return ofFilter ? machine.imageFilterOperationsPerSecond : machine.imageOperationsPerSecond;
  if (type.usesTensorCores())
    return tensorCoreRate(type, machine);
  if (!backward)
    return machine.forwardOperationsPerSecond;
  auto all = [&](int64_t dl::WindowAxis::*number) {
    return llvm::all_of(g.axes, [&](const dl::WindowAxis &axis) { return axis.*number == 1; });
  };
  double rate = all(&dl::WindowAxis::kernel) ? (ofFilter ? machine.pointFilterOperationsPerSecond
                                                         : machine.pointDataOperationsPerSecond)
                                             : (ofFilter ? machine.filterOperationsPerSecond
                                                         : machine.dataOperationsPerSecond);
  return all(&dl::WindowAxis::stride) ? rate : rate / machine.strideSlowdown;
}

/// Whether a tensor of the kernel lies in memory as the call takes it.
static bool standsAsCalled(const ChannelTensor &tensor, RankedTensorType type) {
  const bool last = program::LayoutAttr::isChannelsLast(type),
             first = program::PhysicalLayout::get(type).rowMajor;
  return !tensor.isExtended() &&
         ((tensor.channelsLast ? last : first) || (tensor.liesEqually() && (last || first)));
}

/// The operand as it is, if it can be given so; else its place is in the workspace.
static std::optional<unsigned> givenAsIs(const KernelSpec &spec, const ChannelTensor &tensor,
                                         Value value) {
  std::optional<unsigned> operand = storedOperand(value);
  if (operand && !standsAsCalled(tensor, spec.operandTypes()[*operand]))
    return std::nullopt;
  return operand;
}

/// Whether what an operand is computed from lies as the call takes it: then no tile needs turning.
static bool comesInOrder(const ChannelTensor &tensor) {
  if (tensor.isExtended())
    return true;
  bool last = llvm::any_of(dl::backwardSlice(tensor.value), [](Value source) {
    return program::LayoutAttr::isChannelsLast(cast<RankedTensorType>(source.getType()));
  });
  return last == tensor.channelsLast;
}

/// The same of what is computed from the result.
static bool leavesInOrder(const KernelSpec &spec, const ChannelTensor &result) {
  return result.isExtended() ||
         llvm::any_of(spec.resultTypes(), program::LayoutAttr::isChannelsLast) ==
             result.channelsLast;
}

/// Whether a launch moves four channels at a time: those of all tensors that lie in the order of
/// the call with one access.
static bool movesQuads(const KernelSpec &spec, const ChannelTensor &tensor, bool toWorkspace) {
  return tensor.channelsLast && !tensor.isExtended() && tensor.channels % 4 == 0 &&
         (toWorkspace || llvm::all_of(spec.resultTypes(), [&](RankedTensorType type) {
            return program::LayoutAttr::isChannelsLast(type) &&
                   type.getNumElements() == tensor.elements();
          }));
}

/// Number of blocks of transpose.cuh.
static uint64_t turnedBlocks(const ChannelTensor &tensor) {
  return tensor.outer * llvm::divideCeil(tensor.channels, 32) *
         llvm::divideCeil(tensor.pixels(), 32);
}

/// A launch between a tensor of the kernel and its place in the workspace.
static Phase movingPhase(const KernelSpec &spec, const ChannelTensor &tensor, uint64_t bytes,
                         bool inOrder, bool toWorkspace) {
  const bool extends = tensor.isExtended() && toWorkspace;
  const int64_t each = extends || movesQuads(spec, tensor, toWorkspace) ? 4 : 1,
                elements = extends ? tensor.calledElements() : tensor.elements();
  Phase phase = {inOrder ? blocksFor(elements, each * threads) : turnedBlocks(tensor)};
  phase.sideBytes = bytes;
  return phase;
}

/// Bytes of the launch that writes an operand to its place: of all that it is computed from, and
/// its own.
static uint64_t writtenOperandBytes(CallType type, const ChannelTensor &tensor) {
  uint64_t bytes = bytesOf(type, tensor.calledElements());
  for (Value value : dl::backwardSlice(tensor.value))
    if (isa<BlockArgument>(value))
      bytes += program::storageBytes(cast<RankedTensorType>(value.getType()));
  return bytes;
}

/// What cuDNN has behind this convolution; nothing if a launch has to finish it.
static std::optional<Epilogue> matchConvolutionEpilogue(const KernelSpec &spec,
                                                        const ConvolutionCall &c) {
  if (!standsAsCalled(c.result, spec.resultTypes()[0]))
    return std::nullopt;
  auto storedAlike = [&](Value value) { return givenAsIs(spec, c.result, value); };
  std::optional<Epilogue> epilogue = EpilogueMatcher(spec, 1, storedAlike).match();
  if (epilogue && epilogue->bits != 0 && c.op != DLC_CALL_CONVOLUTION)
    return std::nullopt;
  // No engine adds a tensor alone.
  if (epilogue && epilogue->bits == DLC_EPILOGUE_ADD)
    return std::nullopt;
  return epilogue;
}

namespace {
/// What a candidate of a convolution keeps: how the call is told its tensors, and where in the
/// workspace, in elements, those stand that do not stand as called.
struct ConvolutionPlaces {
  int64_t channelsLast = 0, multiple = 1; ///< of how many few channels are called
  int64_t result = none, first = none, second = none;

  static constexpr int64_t none = -1;
  template <typename Self, typename Fields> static void fields(Self &s, Fields &f) {
    f("channels last ", s.channelsLast);
    f(" multiple ", s.multiple);
    f(" result ", s.result);
    f(" first ", s.first);
    f(" second ", s.second);
  }
};

/// A call with a phase in front of it for each operand that does not stand as called, and one
/// behind it where no epilogue finishes the result.
class ConvolutionScheduler {
public:
  ConvolutionScheduler(const KernelSpec &spec, const CudaTarget &target, const ConvolutionCall &c,
                       CallType type, const std::optional<Epilogue> &epilogue)
      : spec(spec), target(target), c(c), type(type), epilogue(epilogue), workspace(spec) {}

  /// Nothing if no engine has it.
  std::optional<Candidate> schedule();

private:
  void describeCall();
  bool chooseEngine();
  int64_t takePlace(const ChannelTensor &tensor);
  int64_t addOperand(const ChannelTensor &tensor);

  const KernelSpec &spec;
  const CudaTarget &target;
  const ConvolutionCall &c;
  const CallType type;
  const std::optional<Epilogue> &epilogue;
  WorkspacePlan workspace;
  LibraryCall library;
  Candidate candidate;
};
} // namespace

void ConvolutionScheduler::describeCall() {
  library.call = c.describe();
  library.call.math = type.math;
  library.call.dtype = type.dtype;
  const dl::WishAttr wish = dl::ConvolutionForm::get(spec.anchorOp()).wish;
  const uint64_t limit = target.settings.workspaceLimit.value_or(convolutionWorkspace);
  library.call.workspace_bytes = wish ? wish.getWorkspace().value_or(limit) : limit;
  candidate.schedule = "cuDNN, finished by a launch";
  if (!epilogue)
    return;
  candidate.schedule = "cuDNN" + describeEpilogue(*epilogue);
  library.call.epilogue = epilogue->bits;
  // cuDNN does not say when it reads the addend.
  candidate.inPlace = !(epilogue->bits & DLC_EPILOGUE_ADD);
}

/// False if there is none; where the device at hand chooses, so is nothing chosen now.
bool ConvolutionScheduler::chooseEngine() {
  if (!target.settings.chooseEngine)
    return true;
  std::optional<LibraryEngine> engine = target.settings.chooseEngine(library.call);
  if (!engine)
    return false;
  library.engine = std::move(engine->numbers);
  library.call.workspace_bytes = engine->workspaceBytes;
  candidate.schedule += ", engine";
  for (uint64_t number : library.engine)
    candidate.schedule += " " + std::to_string(number);
  candidate.schedule += ", workspace " + std::to_string(engine->workspaceBytes);
  return true;
}

/// Of the next argument, in the workspace.
int64_t ConvolutionScheduler::takePlace(const ChannelTensor &tensor) {
  library.arguments.push_back(workspace.take(bytesOf(type, tensor.calledElements())));
  return int64_t(library.arguments.back().offset / bytesOf(type, 1));
}

int64_t ConvolutionScheduler::addOperand(const ChannelTensor &tensor) {
  if (std::optional<unsigned> operand = givenAsIs(spec, tensor, tensor.value)) {
    library.arguments.push_back({*operand});
    return ConvolutionPlaces::none;
  }
  const uint64_t bytes = writtenOperandBytes(type, tensor);
  candidate.phases.push_back(
      movingPhase(spec, tensor, bytes, comesInOrder(tensor), /*toWorkspace=*/true));
  candidate.cost += target.machine.kernelSeconds(bytes, 0, 1);
  return takePlace(tensor);
}

std::optional<Candidate> ConvolutionScheduler::schedule() {
  describeCall();
  if (!chooseEngine())
    return std::nullopt;
  candidate.schedule += typeText(type);
  ConvolutionPlaces places;
  places.channelsLast = c.channelsLast();
  places.multiple = type.multiple();
  if (epilogue)
    library.arguments.push_back({epilogue->result});
  else
    places.result = takePlace(c.result);
  places.first = addOperand(c.first);
  places.second = addOperand(c.second);
  if (epilogue)
    for (unsigned buffer : epilogue->buffers)
      library.arguments.push_back({buffer});
  if (library.call.workspace_bytes != 0)
    library.arguments.push_back(workspace.take(library.call.workspace_bytes));
  candidate.parameters = numbersOf(places);
  candidate.workspaceBytes = workspace.bytes();
  candidate.phases.push_back({1, 0, 0, std::make_shared<LibraryCall>(library)});
  candidate.cost += target.machine.kernelSeconds(spec.bytes(), 0, 1) +
                    c.geometry.flops() / convolutionRate(c, type, target.machine);
  if (!epilogue) {
    candidate.phases.push_back(movingPhase(spec, c.result, movedBytes(type, c.result.elements()),
                                           leavesInOrder(spec, c.result), /*toWorkspace=*/false));
    candidate.cost += moveSeconds(type, c.result.elements(), target.machine);
  }
  return std::move(candidate);
}

static std::optional<Candidate> scheduleConvolution(const KernelSpec &spec,
                                                    const CudaTarget &target) {
  const std::optional<CallType> type = CallType::get(spec.anchorOp());
  if (!type)
    return std::nullopt;
  const bool channelsLast = target.wantsChannelsLast() && type->usesTensorCores();
  ConvolutionCall c(spec.anchorOp(), channelsLast, type->multiple());
  if (c.result.elements() * c.first.elements() * c.second.elements() == 0)
    return std::nullopt;
  std::optional<Epilogue> epilogue = matchConvolutionEpilogue(spec, c);
  std::optional<Candidate> candidate;
  if (epilogue)
    candidate = ConvolutionScheduler(spec, target, c, *type, epilogue).schedule();
  // No engine may have this epilogue, and one the plain convolution.
  if (!candidate && (!epilogue || epilogue->bits != 0))
    candidate = ConvolutionScheduler(spec, target, c, *type, std::nullopt).schedule();
  return candidate;
}

/// "n / 144 % 12": the three indices of pixel `n`.
static std::string pixelIndices(StringRef n, ArrayRef<int64_t> space) {
  return llvm::formatv("{0} / {1}, {0} / {2} % {3}, {0} % {2}", n, space[1] * space[2], space[2],
                       space[1])
      .str();
}

/// A phase that moves `tensor` to its place in the workspace, or from there, four channels at a
/// time, with one access to each tensor that lies so.
static LogicalResult writeQuads(KernelText &text, const ChannelTensor &tensor, bool toWorkspace,
                                int64_t place) {
  const KernelSpec &spec = text.spec;
  DeviceFunction function(spec, "body", {"b", "c", "d", "h", "w"});
  SmallVector<int64_t> shape = {tensor.outer, tensor.channels};
  llvm::append_range(shape, tensor.space());
  const Point own = ownPoint(function, shape);
  const std::string there = std::to_string(place) + " + i";
  const Type element = getElementTypeOrSelf(spec.anchorOp()->getResult(0));
  Quads quads(function);
  Value result;
  if (!toWorkspace) {
    result = function.addValue("v", element);
    quads.parameter("v", "partial", there, element);
  }
  BodyEmitter body = function.bodyGiven(
      [&](unsigned number, const Point &point) {
        RankedTensorType type = spec.operandTypes()[number];
        if (point == own && program::LayoutAttr::isChannelsLast(type))
          return quads.operand(number, "i");
        return program::PhysicalLayout::get(type).rowMajor &&
                       function.offset(number, point) == function.index(1)
                   ? quads.operand(number, "c")
                   : Value();
      },
      [&](unsigned, const Point &point) { return point == own ? result : Value(); });
  if (toWorkspace) {
    if (failed(quads.result("r", "partial", there, element, body.emitStored(tensor.value, own))))
      return failure();
  } else {
    for (auto [number, type] : llvm::enumerate(spec.resultTypes()))
      if (failed(quads.result(number, "i", body.emitStored(spec.result(number), own))))
        return failure();
  }
  const std::string printed = function.print();
  if (printed.empty())
    return failure();
  const Quads::Text moved = quads.text(true);
  text.phaseWithMembers(
      threads, "map",
      llvm::formatv("  static constexpr int ELEMENTS = {0}, THREADS = {1};\n"
                    "  static constexpr bool QUADS = true;\n{2}"
                    "  __device__ void four(int i) const {{\n"
                    "    int c = i % {3}, pixel = i / {3} % {4}, b = i / {5};\n{6}"
                    "#pragma unroll\n    for (int l = 0; l < 4; ++l)\n"
                    "      body(b, c + l, {7}{8}{9});\n{10}  }\n"
                    "  __device__ void one(int) const {{}\n",
                    tensor.elements(), threads, printed, tensor.channels, tensor.pixels(),
                    tensor.channels * tensor.pixels(), moved.before,
                    pixelIndices("pixel", tensor.space()), moved.operands, moved.results,
                    moved.after)
          .str());
  return success();
}

/// Names of the indices along ChannelTensor::axes.
static constexpr StringRef axisNames[] = {"d", "h", "w"};

/// A phase that writes a tensor with few channels as the call is told it, four channels of a pixel
/// a thread.
static void writeExtended(KernelText &text, const ChannelTensor &tensor, int64_t place) {
  int64_t pixels = 1, channels = tensor.channels;
  std::string own, exists;
  for (auto [name, axis] : llvm::reverse(llvm::zip_equal(axisNames, tensor.axes))) {
    own += llvm::formatv("      int {0} = pixel / {1} % {2} * {3} + c / {4} % {3} - {5};\n", name,
                         pixels, axis.called, axis.fold, channels, axis.shift);
    exists += llvm::formatv(" && {0} >= 0 && {0} < {1}", name, axis.own);
    pixels *= axis.called;
    channels *= axis.fold;
  }
  const int64_t quads = tensor.calledChannels / 4;
  text.phaseWithMembers(
      threads, "map",
      llvm::formatv("  static constexpr int ELEMENTS = {0}, THREADS = {1};\n"
                    "  static constexpr bool QUADS = false;\n"
                    "  __device__ void one(int i) const {{\n"
                    "    int b = i / {2}, pixel = i / {3} % {4};\n    Quad<{5}> q;\n"
                    "#pragma unroll\n    for (int l = 0; l < 4; ++l) {{\n"
                    "      int c = i % {3} * 4 + l;\n{6}"
                    "      bool exists = c < {7}{8};\n"
                    "      q.v[l] = exists ? Problem::{9}(b, c % {10}, d, h, w) : T(0);\n"
                    "    }\n    storeQuad(partial, {11} + i * 4, q);\n  }\n",
                    tensor.outer * pixels * quads, threads, pixels * quads, quads, pixels,
                    storedTypeName(getElementTypeOrSelf(tensor.value)), own, channels, exists,
                    tensor.name, tensor.channels, place)
          .str());
}

/// The function "called" that gives the place of an element of an extended tensor among those that
/// the call is told.
static std::string calledPlace(const ChannelTensor &tensor) {
  std::string pixel = "b", phase = "0";
  for (auto [index, axis] : llvm::zip_equal(axisNames, tensor.axes)) {
    auto append = [&](std::string &sum, int64_t extent, StringRef operation) {
      sum = llvm::formatv("({0} * {1} + ({2} + {3}) {4} {5})", sum, extent, index, axis.shift,
                          operation, axis.fold);
    };
    append(pixel, axis.called, "/");
    append(phase, axis.fold, "%");
  }
  return llvm::formatv("  __device__ static int called(int b, int c, int d, int h, int w) {{\n"
                       "    return {0} * {1} + {2} * {3} + c;\n  }\n",
                       pixel, tensor.calledChannels, phase, tensor.channels);
}

/// A phase that moves `tensor` to its place in the workspace, or from there: element by element in
/// the order of the workspace, or in turned tiles.
static LogicalResult writeMove(KernelText &text, const ChannelTensor &tensor, bool inOrder,
                               bool toWorkspace, int64_t place) {
  if (inOrder && movesQuads(text.spec, tensor, toWorkspace))
    return writeQuads(text, tensor, toWorkspace, place);
  if (tensor.isExtended() && toWorkspace)
    return writeExtended(text, tensor, place), success();
  std::string indices = pixelIndices("pixel", tensor.space());
  const int64_t pixels = tensor.pixels(), channels = tensor.channels;
  std::string offset = tensor.isExtended() ? "called(b, c, " + indices + ")"
                       : tensor.channelsLast
                           ? llvm::formatv("(b * {0} + pixel) * {1} + c", pixels, channels).str()
                           : llvm::formatv("(b * {0} + c) * {1} + pixel", channels, pixels).str();
  std::string element = "partial[" + std::to_string(place) + " + " + offset + "]";
  std::string read =
      toWorkspace ? ("Problem::" + tensor.name + "(b, c, " + indices + ")").str() : element;
  std::string write = toWorkspace ? element + " = v" : "finish(b, c, " + indices + ", v)";
  if (inOrder) {
    text.phaseWithMembers(
        threads, "map",
        llvm::formatv("  static constexpr int ELEMENTS = {0}, THREADS = {1};\n"
                      "  static constexpr bool QUADS = false;\n{9}"
                      "  __device__ void one(int i) const {{\n"
                      "    int b = i / {2}, {3} = i / {4} % {5}, {6} = i % {4};\n"
                      "    T v = {7};\n    {8};\n  }\n",
                      tensor.elements(), threads, channels * pixels,
                      tensor.channelsLast ? "pixel" : "c", tensor.channelsLast ? channels : pixels,
                      tensor.channelsLast ? pixels : channels, tensor.channelsLast ? "c" : "pixel",
                      read, write, tensor.isExtended() ? calledPlace(tensor) : "")
            .str());
    return success();
  }
  // Neighbours in memory are channels on one side, and pixels on the other.
  StringRef m = toWorkspace == tensor.channelsLast ? "c" : "pixel", n = m == "c" ? "pixel" : "c";
  auto extent = [&](StringRef index) { return index == "c" ? tensor.channels : tensor.pixels(); };
  text.phaseWithMembers(
      threads, "transpose",
      llvm::formatv("  static constexpr int BATCH = {0}, M = {1}, N = {2}, THREADS = {3};\n"
                    "  __device__ T x(int b, int {4}, int {5}) const {{ return {6}; }\n"
                    "  __device__ void store(int b, int {4}, int {5}, T v) const {{ {7}; }\n",
                    tensor.outer, extent(m), extent(n), threads, m, n, read, write)
          .str());
  return success();
}

static FailureOr<KernelText> writeConvolution(const KernelSpec &spec,
                                              const ConvolutionPlaces &places) {
  const ConvolutionCall c(spec.anchorOp(), places.channelsLast != 0, places.multiple);
  constexpr int64_t none = ConvolutionPlaces::none;
  KernelText text(spec, {"axis", "map", "transpose"});
  const bool finishes = places.result != none;
  if (finishes || places.first != none || places.second != none) {
    FailureOr<AnchorForm> form = describeProduct(text);
    if (failed(form) || (finishes && failed(addStore(text, *form, "finish"))))
      return failure();
    text.storage(form->element);
  }
  for (const auto &[tensor, place] :
       {std::pair(&c.first, places.first), {&c.second, places.second}})
    if (place != none &&
        failed(writeMove(text, *tensor, comesInOrder(*tensor), /*toWorkspace=*/true, place)))
      return failure();
  text.libraryPhase();
  if (finishes && failed(writeMove(text, c.result, leavesInOrder(spec, c.result),
                                   /*toWorkspace=*/false, places.result)))
    return failure();
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Both
//===------------------------------------------------------------------------------------------===//

SmallVector<Candidate> LibraryGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  std::optional<Candidate> candidate;
  auto matmul = dyn_cast_or_null<dl::MatmulOp>(spec.anchorOp());
  if (matmul && libraryReadsStored(matmul, target))
    candidate = scheduleProduct(spec, target, matmul);
  else if (spec.anchor() == Anchor::Convolution && target.settings.convolutions != Provider::Own)
    candidate = scheduleConvolution(spec, target);
  if (!candidate)
    return {};
  return {*candidate};
}

FailureOr<KernelText> LibraryGenerator::write(const KernelSpec &spec,
                                              const Candidate &candidate) const {
  if (spec.anchor() == Anchor::Gemm)
    return writeProduct(spec, *candidate.parameters.getAsBoolean());
  return writeConvolution(spec, scheduleOf<ConvolutionPlaces>(candidate.parameters));
}

std::unique_ptr<CudaGenerator> codegen::createLibraryGenerator() {
  return std::make_unique<LibraryGenerator>();
}
