//===- ElementsGenerator.cpp - the generator of last resort -----------------------------------===//
//
// Any region but an update or attention, right and slow: each result is a phase, each of its
// elements a thread, and where the anchor's value is needed its definition is computed
// (*_elements.cuh), also for each term of a sum beside it. Takes every layout and reshape; other
// generators may refuse what they do not like.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Anchors.h"
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLTensorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128;

namespace {
class ElementsGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-elements"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

SmallVector<Candidate> ElementsGenerator::schedules(const KernelSpec &spec,
                                                    const CudaTarget &target) const {
  if (spec.anchor() == Anchor::MultiTensor || spec.anchor() == Anchor::Attention)
    return {};
  Candidate candidate;
  candidate.schedule = "elements";
  for (RankedTensorType type : spec.resultTypes())
    candidate.phases.push_back(
        {uint32_t(llvm::divideCeil(program::PhysicalLayout::get(type).elements, threads)), 0});
  // No generator but this one scatters: each element of the result looks at all numbers.
  if (auto scatter = dyn_cast_or_null<dl::ScatterAddOp>(spec.anchorOp())) {
    double looks = double(cast<RankedTensorType>(scatter.getIndex().getType()).getNumElements()) *
                   double(scatter.getY().getType().getNumElements());
    candidate.cost = gpuSeconds(spec.bytes(), looks, candidate.phases.size());
    return {candidate};
  }
  // Far behind every other generator.
  candidate.cost = 1e-2 + gpuSeconds(spec.bytes(), 100.0 * spec.flops(), candidate.phases.size());
  return {candidate};
}

/// The anchor's result `number` as a function of the struct.
static void addAnchorFunction(KernelText &text, const AnchorForm &form, unsigned number) {
  Operation *op = text.spec.anchorOp();
  std::string parameters, arguments;
  for (StringRef axis : form.axes) {
    parameters += (parameters.empty() ? "int " : ", int ") + axis.str();
    arguments += ", " + axis.str();
  }
  std::string member;
  if (text.spec.anchor() == Anchor::Reduce)
    member = "." + totalMember(text.spec.reductions(), number);
  else if (isa<dl::MaxPoolOp>(op))
    member = number == 0 ? ".value" : ".tap";
  text.members(
      llvm::formatv(
          "  __device__ {0} anchor{1}({2}) const {{ return {3}(*this{4}){5}; }\n",
          storedTypeName(accumulatorType(getElementTypeOrSelf(text.spec.anchorResults()[number]))),
          number, parameters, form.function, arguments, member)
          .str());
}

static bool hasFunction(const KernelSpec &spec) {
  return spec.anchor() != Anchor::Map && spec.anchor() != Anchor::Transpose;
}

/// Where the definitions are; those of windows are their skeleton's.
static SmallVector<StringRef> definitionsOf(Anchor anchor) {
  switch (anchor) {
  case Anchor::Reduce:
    return {"reductions", "reduce_elements"};
  case Anchor::Gemm:
    return {"product_elements"};
  case Anchor::Convolution:
    return {"product_elements", "convolution_elements"};
  case Anchor::Softmax:
    return {"softmax_elements"};
  default:
    return {};
  }
}

/// Members of the phase that stores a sum beside the anchor. Empty if they cannot be printed.
static std::string
sumMembers(const KernelSpec &spec, unsigned number,
           llvm::function_ref<BodyEmitter::AnchorValue(DeviceFunction &)> anchor) {
  auto op = spec.result(number).getDefiningOp<dl::ReduceOp>();
  if (!program::PhysicalLayout::get(spec.resultTypes()[number]).rowMajor)
    return "";
  std::string members = reductionMembers(spec, dl::ReductionOp(op), anchor, /*storesFront=*/false);
  if (members.empty())
    return "";
  return llvm::formatv("{0}  __device__ void one(int i) const {{ {1}[i] = reduceElement(*this, "
                       "i).r0.value; }\n",
                       members, bufferName(spec, spec.operandTypes().size() + number))
      .str();
}

FailureOr<KernelText> ElementsGenerator::write(const KernelSpec &spec,
                                               const Candidate &candidate) const {
  SmallVector<StringRef> skeletons = {"map"};
  if (hasFunction(spec)) {
    auto need = [&](ArrayRef<StringRef> names) {
      for (StringRef name : names)
        if (!llvm::is_contained(skeletons, name))
          skeletons.push_back(name);
    };
    need(skeletonsOf(spec));
    need(definitionsOf(spec.anchor()));
    if (spec.hasSums())
      need(definitionsOf(Anchor::Reduce));
  }
  KernelText text(spec, skeletons);
  text.constant("THREADS", threads);
  text.flag("QUADS", false);
  FailureOr<AnchorForm> form = failure();
  if (hasFunction(spec)) {
    if (failed(form = describeAnchor(text)))
      return failure();
    for (unsigned number = 0; number < spec.anchorResults().size(); ++number)
      addAnchorFunction(text, *form, number);
  }
  auto anchorOf = [&](DeviceFunction &function) -> BodyEmitter::AnchorValue {
    if (failed(form))
      return {};
    return [&](unsigned result, const Point &at) {
      Type element = getElementTypeOrSelf(spec.anchorResults()[result]);
      SmallVector<Value> indices = function.reshape(at, form->space).indices;
      if (form->axes.size() != form->space.size())
        indices = {function.linear({indices[0], indices[2]}, {form->space[0], form->space[2]}),
                   indices[1]};
      return function.call("anchor" + std::to_string(result), indices, element);
    };
  };
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    std::string body;
    if (spec.isSum(spec.result(number))) {
      body = sumMembers(spec, number, anchorOf);
    } else {
      DeviceFunction one(spec, "one", {"i"});
      if (failed(one.storeLinear(anchorOf(one), number, one.index(0))))
        return failure();
      body = one.print();
    }
    if (body.empty())
      return failure();
    text.phaseWithMembers(threads, "map",
                          ("  static constexpr int ELEMENTS = " +
                           Twine(program::PhysicalLayout::get(type).elements) + ";\n" + body)
                              .str());
  }
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaElementsGenerator() {
  return std::make_unique<ElementsGenerator>();
}
