//===- LibraryGenerator.cpp - products by cuBLASLt, convolutions by cuDNN ---------------------===//
//
// A product is one call where its epilogue is one that cuBLASLt has: bias, addend, ReLU. Else the
// call writes into the workspace, and a launch finishes the elements. A convolution runs in NHWC
// (filters: output channels, space, input channels): launches turn its operands, with all that is
// fused in front of them, and another one turns and finishes its result. A tensor that lies in
// memory equally in both orders is given as it is.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "dlc/abi.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256, partsThreads = 128;
static const uint64_t productWorkspace = 4 << 20, convolutionWorkspace = 16 << 20;

namespace {

class LibraryGenerator : public TextGenerator {
public:
  StringRef name() const override { return "library"; }
  unsigned version() const override { return 1; }
  SmallVector<Candidate> schedules(const KernelSpec &spec,
                                   const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

} // namespace

/// The operand of the kernel that `value` is, reshaped at most; it stands in memory row-major.
static std::optional<unsigned> plainOperand(Value value) {
  while (auto reshape = value.getDefiningOp<dl::ReshapeOp>())
    value = reshape.getX();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !PhysicalLayout::get(cast<RankedTensorType>(value.getType())).rowMajor)
    return std::nullopt;
  return argument.getArgNumber();
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
// Products
//===------------------------------------------------------------------------------------------===//

namespace {
/// What follows the product, as far as cuBLASLt knows it: bits and their operands, in their order.
struct Epilogue {
  uint32_t bits = 0;
  SmallVector<unsigned> operands;
};
} // namespace

/// Follows the chain from the product to the kernel's one result.
static std::optional<Epilogue> matchEpilogue(const KernelSpec &spec) {
  Epilogue epilogue;
  Value value = spec.anchorOp()->getResult(0);
  if (spec.resultTypes().size() != 1 || !PhysicalLayout::get(spec.resultTypes()[0]).rowMajor)
    return std::nullopt;
  auto type = cast<RankedTensorType>(value.getType());
  while (value != spec.result(0)) {
    if (!value.hasOneUse())
      return std::nullopt;
    Operation *user = *value.user_begin();
    if (isa<dl::ReluOp>(user) && epilogue.bits < DLC_EPILOGUE_RELU) {
      epilogue.bits |= DLC_EPILOGUE_RELU;
    } else if (auto sum = dyn_cast<dl::AddOp>(user)) {
      Value other = sum.getA() == value ? sum.getB() : sum.getA();
      auto bias = other.getDefiningOp<dl::BroadcastOp>();
      bool isBias = bias && bias.getDims() == ArrayRef<int64_t>{type.getRank() - 1} &&
                    cast<RankedTensorType>(bias.getX().getType()).getDimSize(0) ==
                        type.getShape().back();
      uint32_t bit = isBias ? DLC_EPILOGUE_BIAS : DLC_EPILOGUE_ADD;
      std::optional<unsigned> operand = plainOperand(isBias ? bias.getX() : other);
      if (!operand || epilogue.bits >= bit)
        return std::nullopt;
      epilogue.bits |= bit;
      epilogue.operands.push_back(*operand);
    } else if (!isa<dl::ReshapeOp>(user)) {
      return std::nullopt;
    }
    value = user->getResult(0);
  }
  return epilogue;
}

static std::optional<Candidate> scheduleProduct(const KernelSpec &spec, dl::MatmulOp op) {
  ProductSizes s(op);
  std::optional<unsigned> a = plainOperand(op.getA()), b = plainOperand(op.getB());
  if (!a || !b || s.batch * s.m * s.n * s.k == 0 || !getElementTypeOrSelf(op.getC()).isF32())
    return std::nullopt;
  WorkspacePlan workspace(spec);
  LibraryCall library;
  library.call.op = DLC_CALL_PRODUCT;
  library.call.transpose_a = op.getTransposeA();
  library.call.transpose_b = op.getTransposeB();
  llvm::copy(ArrayRef<int64_t>{s.batch, s.m, s.n, s.k, s.m * s.k, s.k * s.n, s.m * s.n},
             library.call.sizes);
  library.call.workspace_bytes = productWorkspace;
  std::optional<Epilogue> epilogue = matchEpilogue(spec);
  if (epilogue) {
    library.call.epilogue = epilogue->bits;
    library.arguments = {{unsigned(spec.operandTypes().size())}, {*a}, {*b}};
    for (unsigned operand : epilogue->operands)
      library.arguments.push_back({operand});
  } else {
    library.arguments = {workspace.take(s.batch * s.m * s.n * sizeof(float)), {*a}, {*b}};
  }
  library.arguments.push_back(workspace.take(productWorkspace));
  Candidate candidate;
  candidate.schedule = epilogue ? "cuBLASLt" : "cuBLASLt, finished by a launch";
  candidate.parameters = !epilogue;
  candidate.workspaceBytes = workspace.bytes();
  candidate.phases.push_back({1, 0, 0, std::make_shared<LibraryCall>(library)});
  if (!epilogue)
    candidate.phases.push_back({blocksFor(s.batch * s.m * s.n, partsThreads), 0});
  return candidate;
}

/// The launch that finishes the elements, if there is one.
static FailureOr<KernelText> writeProduct(const KernelSpec &spec, bool finishes) {
  KernelText text(spec, {"gemm"});
  text.libraryPhase();
  if (!finishes)
    return text;
  FailureOr<AnchorForm> form = describeAnchor(text);
  if (failed(form) || failed(addStore(text, *form, "store")))
    return failure();
  text.constant("SPLIT", 1);
  text.constant("PARTS_THREADS", partsThreads);
  text.workspace(form->element);
  text.phase(partsThreads, "gemmParts");
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

namespace {

/// A convolution's tensor: outer index, channels, space. cuDNN wants the channels last.
struct ChannelTensor {
  StringRef name; ///< of its accessor
  Value value;
  int64_t outer, channels;
  SmallVector<int64_t, 3> space; ///< three extents

  int64_t pixels() const { return product(space); }
  int64_t elements() const { return outer * channels * pixels(); }
  /// Whether both orders are the same in memory.
  bool liesEqually() const { return channels == 1 || pixels() == 1; }
  /// Number of blocks of transpose.cuh with `rows` x `columns` turned.
  uint32_t blocks() const {
    return outer * llvm::divideCeil(channels, 32) * llvm::divideCeil(pixels(), 32);
  }
};

/// A convolution in any direction: its result, its operands in the order of the call.
struct ConvolutionCall {
  dl::ConvolutionGeometry geometry;
  dlc_library_op op;
  ChannelTensor result, first, second;

  explicit ConvolutionCall(Operation *anchor);

private:
  ChannelTensor image(StringRef name, Value value, int64_t channels,
                      int64_t dl::WindowAxis::*extent) const {
    return {name, value, geometry.batch, channels, spaceOf(extent)};
  }
  SmallVector<int64_t, 3> spaceOf(int64_t dl::WindowAxis::*extent) const {
    SmallVector<int64_t, 3> space(3 - geometry.axes.size(), 1);
    for (const dl::WindowAxis &axis : geometry.axes)
      space.push_back(axis.*extent);
    return space;
  }
  void set(Value x, Value w, Value y, dlc_library_op direction) {
    op = direction;
    ChannelTensor input = image("x", x, geometry.channels, &dl::WindowAxis::input);
    ChannelTensor output = image("y", y, geometry.filters, &dl::WindowAxis::output);
    ChannelTensor filter = {"w", w, geometry.filters, geometry.channels / geometry.groups,
                            spaceOf(&dl::WindowAxis::kernel)};
    result = op == DLC_CALL_CONVOLUTION ? output : op == DLC_CALL_BACKWARD_DATA ? input : filter;
    first = op == DLC_CALL_CONVOLUTION ? input : output;
    second = op == DLC_CALL_BACKWARD_FILTER ? input : filter;
  }
};

} // namespace

ConvolutionCall::ConvolutionCall(Operation *anchor) {
  if (auto forward = dyn_cast<dl::ConvolutionOp>(anchor)) {
    geometry = forward.getGeometry();
    set(forward.getX(), forward.getW(), forward.getY(), DLC_CALL_CONVOLUTION);
  } else if (auto data = dyn_cast<dl::ConvolutionBackwardDataOp>(anchor)) {
    geometry = data.getGeometry();
    set(data.getDx(), data.getW(), data.getDy(), DLC_CALL_BACKWARD_DATA);
  } else {
    auto filter = cast<dl::ConvolutionBackwardFilterOp>(anchor);
    geometry = filter.getGeometry();
    set(filter.getX(), filter.getDw(), filter.getDy(), DLC_CALL_BACKWARD_FILTER);
  }
}

static dlc_library_call describeCall(const ConvolutionCall &c) {
  dlc_library_call call = {};
  call.op = c.op;
  const dl::ConvolutionGeometry &g = c.geometry;
  SmallVector<int64_t> sizes = {int64_t(g.axes.size()), g.batch, g.groups, g.channels, g.filters};
  for (const dl::WindowAxis &axis : g.axes)
    sizes.append(
        {axis.input, axis.kernel, axis.output, axis.stride, axis.low, axis.high, axis.dilation});
  llvm::copy(sizes, call.sizes);
  call.workspace_bytes = convolutionWorkspace;
  return call;
}

/// The operand as it is, if it can be given so; else its place in the workspace.
static std::optional<unsigned> givenAsIs(const ChannelTensor &tensor) {
  return tensor.liesEqually() ? plainOperand(tensor.value) : std::nullopt;
}

static std::optional<Candidate> scheduleConvolution(const KernelSpec &spec,
                                                    const CudaTarget &target) {
  ConvolutionCall c(spec.anchorOp());
  if (!getElementTypeOrSelf(c.result.value).isF32() ||
      c.result.elements() * c.first.elements() * c.second.elements() == 0)
    return std::nullopt;
  WorkspacePlan workspace(spec);
  LibraryCall library;
  library.call = describeCall(c);
  Candidate candidate;
  candidate.schedule = "cuDNN";
  if (target.chooseEngine) {
    std::optional<std::vector<uint64_t>> engine = target.chooseEngine(library.call);
    if (!engine)
      return std::nullopt;
    library.engine = std::move(*engine);
    candidate.schedule += " engine";
    for (uint64_t number : library.engine)
      candidate.schedule += " " + std::to_string(number);
  }
  BufferPiece result = workspace.take(c.result.elements() * sizeof(float));
  library.arguments.push_back(result);
  llvm::json::Array places{int64_t(result.offset / sizeof(float))};
  for (const ChannelTensor *tensor : {&c.first, &c.second}) {
    if (std::optional<unsigned> operand = givenAsIs(*tensor)) {
      library.arguments.push_back({*operand});
      continue;
    }
    library.arguments.push_back(workspace.take(tensor->elements() * sizeof(float)));
    places.push_back(int64_t(library.arguments.back().offset / sizeof(float)));
    candidate.phases.push_back({tensor->blocks(), 0});
  }
  library.arguments.push_back(workspace.take(convolutionWorkspace));
  candidate.parameters = std::move(places);
  candidate.workspaceBytes = workspace.bytes();
  candidate.phases.push_back({1, 0, 0, std::make_shared<LibraryCall>(library)});
  candidate.phases.push_back({c.result.blocks(), 0});
  return candidate;
}

/// "n / 144 % 12": the three indices of pixel `n`.
static std::string pixelIndices(StringRef n, ArrayRef<int64_t> space) {
  return llvm::formatv("{0} / {1}, {0} / {2} % {3}, {0} % {2}", n, space[1] * space[2], space[2],
                       space[1])
      .str();
}

static std::string sizesText(int64_t batch, int64_t m, int64_t n) {
  return llvm::formatv("  static constexpr int BATCH = {0}, M = {1}, N = {2}, THREADS = {3};\n",
                       batch, m, n, threads)
      .str();
}

static FailureOr<KernelText> writeConvolution(const KernelSpec &spec,
                                              const llvm::json::Array &places) {
  ConvolutionCall c(spec.anchorOp());
  KernelText text(spec, {"axis", "transpose"});
  FailureOr<AnchorForm> form = describeAnchor(text);
  if (failed(form) || failed(addStore(text, *form, "finish")))
    return failure();
  text.workspace(form->element);
  size_t next = 1;
  for (const ChannelTensor *tensor : {&c.first, &c.second}) {
    if (givenAsIs(*tensor))
      continue;
    // x[b, m, n] with channels m and pixels n goes to [b, n, m].
    text.phaseWithMembers(
        threads, "transpose",
        sizesText(tensor->outer, tensor->channels, tensor->pixels()) +
            llvm::formatv("  __device__ T x(int b, int m, int n) const {{ return Problem::{0}(b, m, "
                          "{1}); }\n  __device__ void store(int b, int m, int n, T v) const {{ "
                          "partial[{2} + (b * N + n) * M + m] = v; }\n",
                          tensor->name, pixelIndices("n", tensor->space),
                          *places[next++].getAsInteger())
                .str());
  }
  text.libraryPhase();
  const ChannelTensor &result = c.result;
  text.phaseWithMembers(
      threads, "transpose",
      sizesText(result.outer, result.pixels(), result.channels) +
          llvm::formatv("  __device__ T x(int b, int m, int n) const {{ return partial[{0} + (b * M "
                        "+ m) * N + n]; }\n  __device__ void store(int b, int m, int n, T v) const "
                        "{{ finish(b, n, {1}, v); }\n",
                        *places[0].getAsInteger(), pixelIndices("m", result.space))
              .str());
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Both
//===------------------------------------------------------------------------------------------===//

SmallVector<Candidate> LibraryGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  std::optional<Candidate> candidate;
  auto matmul = dyn_cast_or_null<dl::MatmulOp>(spec.anchorOp());
  if (matmul && target.gemm == Provider::Library)
    candidate = scheduleProduct(spec, matmul);
  else if (spec.anchor() == Anchor::Convolution && target.convolution == Provider::Library)
    candidate = scheduleConvolution(spec, target);
  if (!candidate)
    return {};
  // The user has asked for it: ahead of our own.
  candidate->cost = 0;
  return {*candidate};
}

FailureOr<KernelText> LibraryGenerator::write(const KernelSpec &spec,
                                              const Candidate &candidate) const {
  if (spec.anchor() == Anchor::Gemm)
    return writeProduct(spec, *candidate.parameters.getAsBoolean());
  return writeConvolution(spec, *candidate.parameters.getAsArray());
}

std::unique_ptr<CudaGenerator> codegen::createLibraryGenerator() {
  return std::make_unique<LibraryGenerator>();
}
