//===- WindowGenerator.cpp - pooling and its gradients ----------------------------------------===//
//
// Where channels are innermost a thread takes four of them, with one access to each tensor that
// lies so; of a gradient those of all elements from where one window starts to where the next does.
// They need the same few windows, each at taps that are known when the kernel is compiled.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "codegen/CUDA/Text/Quads.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128;
/// Elements of a gradient that a thread takes at most: it sums them up side by side.
static const int64_t mostInStep = 8;

namespace {
class WindowGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-window"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// How threads share a kernel's results.
struct Shares {
  explicit Shares(const KernelSpec &spec);
  int64_t threads() const {
    return llvm::divideCeil(images / lanes * product(items), int64_t(perThread));
  }

  int64_t images, channels;
  int64_t inner = 1;             ///< images that lie beside each other at each pixel
  int64_t lanes = 1;             ///< of these a thread takes so many
  bool steps = false;            ///< and of a gradient whole steps of the windows
  SmallVector<int64_t, 3> items; ///< of an image: elements, or steps
  int64_t perThread = 4;         ///< items
};
} // namespace

//===------------------------------------------------------------------------------------------===//
// Shares
//===------------------------------------------------------------------------------------------===//

/// Whether the larger of the anchor's tensors, the one of pixels under the windows, is stored with
/// its channels innermost.
static bool isChannelsLast(const KernelSpec &spec) {
  Operation *op = spec.anchorOp();
  if (cast<dl::WindowOp>(op).isBackward())
    return program::LayoutAttr::isChannelsLast(spec.resultTypes().front());
  std::optional<unsigned> x = storedOperand(op->getOperand(0));
  return x && program::LayoutAttr::isChannelsLast(spec.operandTypes()[*x]);
}

Shares::Shares(const KernelSpec &spec) {
  auto op = cast<dl::WindowOp>(spec.anchorOp());
  const dl::WindowGeometry g = op.getGeometry();
  images = g.batch * g.channels;
  channels = g.channels;
  llvm::append_range(
      items, g.ofThreeAxes(op.isBackward() ? &dl::WindowAxis::input : &dl::WindowAxis::output));
  if (!isChannelsLast(spec))
    return;
  inner = channels;
  if (channels % 4 != 0)
    return;
  lanes = 4;
  perThread = 1;
  steps = op.isBackward() && product(g.ofThreeAxes(&dl::WindowAxis::stride)) <= mostInStep;
  if (steps)
    for (auto [count, axis] : llvm::zip_equal(items, g.threeAxes()))
      count = llvm::divideCeil(axis.input + axis.low, axis.stride);
}

/// As ptxas has them for sm_90, of 2x2 and 3x3 windows with strides of 2. One does the work of a
/// multiplication and an addition.
static double instructionsPerElement(dl::WindowOp op, const Shares &shares) {
  const bool together = shares.lanes > 1;
  double pairs = 1; // of an element and a window that may hold it, or an element in its window
  for (const dl::WindowAxis &axis : op.getGeometry().axes)
    pairs *= op.isBackward() ? (axis.extent() - 1) / axis.stride + 1 : axis.kernel;
  return 5 + pairs * (op.isBackward() ? (together ? 3 : 26) : (together ? 7 : 10));
}

SmallVector<Candidate> WindowGenerator::schedules(const KernelSpec &spec,
                                                  const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Window)
    return {};
  auto type = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType());
  if (type.getNumElements() == 0)
    return {};
  const Shares shares(spec);
  const double instructions =
      instructionsPerElement(cast<dl::WindowOp>(spec.anchorOp()), shares) * type.getNumElements();
  Candidate candidate;
  candidate.schedule = "window";
  candidate.phases.push_back({blocksFor(shares.threads(), threads), 0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), 2 * instructions, 1);
  return {candidate};
}

//===------------------------------------------------------------------------------------------===//
// Functions
//===------------------------------------------------------------------------------------------===//

namespace {
/// A function of the skeleton: name(i, ...) takes `lanes` images and calls nameAt(i, ...) for each.
/// What that reads and writes of tensors with channels innermost is moved for all of them at once.
class LaneFunction {
public:
  LaneFunction(KernelText &text, int64_t channels, int64_t lanes, StringRef name,
               ArrayRef<int64_t> space, ArrayRef<StringRef> axes)
      : text(text), channels(channels), lanes(lanes), name(name), space(space), axes(axes),
        function(text.spec, (name + "At").str(), axes), own(ownPoint(function, space)),
        quads(function) {}

  /// Adds it as one that gives elements of `value`.
  LogicalResult addRead(Value value);
  /// Adds it as one that finishes and stores the results from those of the anchor.
  LogicalResult addStore();

private:
  bool hasNeighbours(RankedTensorType type) const {
    return lanes > 1 && program::LayoutAttr::isChannelsLast(type) &&
           type.getDimSize(1) == channels && type.getNumElements() == product(space);
  }
  BodyEmitter body(BodyEmitter::AnchorValue anchor = {});
  std::string lanesOf(Value value) const;
  LogicalResult add(StringRef type, StringRef parameters, StringRef before, StringRef target,
                    StringRef arguments, StringRef after);

  KernelText &text;
  const int64_t channels, lanes;
  const StringRef name;
  const ArrayRef<int64_t> space;
  const ArrayRef<StringRef> axes;
  DeviceFunction function;
  const Point own;
  Quads quads;
};
} // namespace

/// Operands of neighbours are given: those that lie so, and those that have one element a channel.
BodyEmitter LaneFunction::body(BodyEmitter::AnchorValue anchor) {
  return function.bodyGiven(
      [this](unsigned number, const Point &point) {
        const RankedTensorType type = text.spec.operandTypes()[number];
        if (point == own && hasNeighbours(type))
          return quads.operand(number, "e");
        return lanes > 1 && program::PhysicalLayout::get(type).rowMajor &&
                       function.periodOf(number, point) == channels
                   ? quads.operand(number, "i % " + std::to_string(channels))
                   : Value();
      },
      std::move(anchor));
}

/// The type of what stands for `value`: of taps int.
std::string LaneFunction::lanesOf(Value value) const {
  const Type element = getElementTypeOrSelf(value);
  return "Lanes<" + (isa<IntegerType>(element) ? "int" : computedTypeName(element)) + ", " +
         std::to_string(lanes) + ">";
}

LogicalResult LaneFunction::addRead(Value value) {
  Value element = body().emit(value, own);
  if (!element)
    return failure();
  function.returns(element);
  const std::string type = lanesOf(value);
  return add(type, "", "    " + type + " v;\n", "v.v[l] = ", "", "    return v;\n");
}

LogicalResult LaneFunction::addStore() {
  const KernelSpec &spec = text.spec;
  if (spec.hasSums() || spec.hasReductionsBehind())
    return failure();
  const SmallVector<Value> values = addAnchorValues(function, spec.anchorResults());
  std::string parameters, arguments;
  for (auto [number, result] : llvm::enumerate(spec.anchorResults())) {
    const std::string value = number == 0 ? "v" : "value" + std::to_string(number);
    parameters += ", " + lanesOf(result) + " " + value;
    arguments += ", " + value + ".v[l]";
  }
  BodyEmitter body = this->body(
      [&](unsigned number, const Point &point) { return point == own ? values[number] : Value(); });
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    const LogicalResult stored =
        hasNeighbours(type) ? quads.result(number, "e", body.emitStored(spec.result(number), own))
                            : storeAt(function, body, number, own);
    if (failed(stored))
      return failure();
  }
  return add("void", parameters, "", "", arguments, "");
}

/// The function for one image, and the one that calls it: target nameAt(i + l, ...).
LogicalResult LaneFunction::add(StringRef type, StringRef parameters, StringRef before,
                                StringRef target, StringRef arguments, StringRef after) {
  if (failed(text.add(function)))
    return failure();
  const Quads::Text moved = quads.text(true);
  const std::string place =
      llvm::formatv(
          "    int e = (i / {0} * {1} + ({2} * {3} + {4}) * {5} + {6}) * {0} + i % {0};\n",
          channels, product(space.drop_front()), axes[1], space[2], axes[2], space[3], axes[3])
          .str();
  text.members(llvm::formatv("  __device__ {0} {1}(int {2}{3}) const {{\n{4}{5}{6}"
                             "#pragma unroll\n    for (int l = 0; l < {7}; ++l)\n"
                             "      {8}{1}At(i + l, {9}{10}{11}{12});\n{13}{14}  }\n",
                             type, name, llvm::join(axes, ", int "), parameters,
                             moved.before.empty() ? "" : place, moved.before, before, lanes, target,
                             llvm::join(axes.drop_front(), ", "), arguments, moved.operands,
                             moved.results, moved.after, after)
                   .str());
  return success();
}

/// Adds what the skeleton asks for of the anchor, and element(i, d, h, w).
static LogicalResult describeWindow(KernelText &text, const Shares &shares) {
  const KernelSpec &spec = text.spec;
  Operation *op = spec.anchorOp();
  const dl::WindowGeometry g = cast<dl::WindowOp>(op).getGeometry();
  const bool backward = cast<dl::WindowOp>(op).isBackward();
  text.constant("IMAGES", shares.images);
  addAxes(text, g);
  SmallVector<int64_t> input = {shares.images}, output = {shares.images};
  llvm::append_range(input, g.ofThreeAxes(&dl::WindowAxis::input));
  llvm::append_range(output, g.ofThreeAxes(&dl::WindowAxis::output));
  auto average = dyn_cast<dl::AveragePoolOp>(op);
  auto averageBackward = dyn_cast<dl::AveragePoolBackwardOp>(op);
  if (average || averageBackward)
    text.flag("COUNT_PADDING",
              average ? average.getCountIncludePad() : averageBackward.getCountIncludePad());
  if (failed(setAnchorType(text, getElementTypeOrSelf(op->getResult(0)))))
    return failure();
  const StringRef axes[] = {"i", "d", "h", "w"}, windows[] = {"i", "o", "p", "q"};
  // The winners of neighbouring channels are no neighbours.
  const int64_t lanes = isa<dl::MaxPoolGatherOp>(op) ? 1 : shares.lanes;
  if (failed(LaneFunction(text, shares.channels, lanes, backward ? "dy" : "x",
                          backward ? output : input, axes)
                 .addRead(op->getOperand(0))))
    return failure();
  if (op->getNumOperands() > 1 &&
      failed(LaneFunction(text, shares.channels, shares.lanes, "index", output, windows)
                 .addRead(op->getOperand(1))))
    return failure();
  if (failed(LaneFunction(text, shares.channels, shares.lanes, "store", backward ? input : output,
                          axes)
                 .addStore()))
    return failure();
  // The skeleton's function has the op's name: max_pool_backward is maxPoolBackward.
  const std::string call =
      llvm::convertToCamelFromSnakeCase(op->getName().stripDialect()) + "(*this, i, d, h, w)";
  std::string element = call;
  if (!backward)
    element = "auto v = " + call + ";\n    store(i, d, h, w, " +
              (!isa<dl::MaxPoolOp>(op)    ? "v"
               : op->getNumResults() == 2 ? "v.value, v.tap"
                                          : "v.value") +
              ")";
  text.members("  __device__ void element(int i, int d, int h, int w) const {\n    " + element +
               ";\n  }\n");
  return success();
}

FailureOr<KernelText> WindowGenerator::write(const KernelSpec &spec,
                                             const Candidate &candidate) const {
  const Shares shares(spec);
  KernelText text(spec, {"axis", "window"});
  text.constant("LANES", shares.lanes);
  text.flag("STEPS", shares.steps);
  if (failed(describeWindow(text, shares)))
    return failure();
  text.constant("THREADS", threads);
  text.constant("PER_THREAD", shares.perThread);
  text.constant("INNER", shares.inner);
  static constexpr StringRef sizes[] = {"SIZE_D", "SIZE_H", "SIZE_W"};
  for (auto [name, size] : llvm::zip_equal(sizes, shares.items))
    text.constant(name, size);
  text.phase(threads, "window");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaWindowGenerator() {
  return std::make_unique<WindowGenerator>();
}
