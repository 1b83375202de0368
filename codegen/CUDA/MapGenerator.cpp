//===- MapGenerator.cpp - element-wise kernels ------------------------------------------------===//
//
// All results over one index space, row-major. Operands that lie in it like the results, or repeat
// in its innermost axes, are loaded four elements at a time and given to the body; the body loads
// what repeats otherwise or is permuted.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256;

namespace {
class MapGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-map"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

static int64_t elementsOf(const KernelSpec &spec) {
  return spec.resultTypes().empty() ? 0 : spec.resultTypes().front().getNumElements();
}

SmallVector<Candidate> MapGenerator::schedules(const KernelSpec &spec,
                                               const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Map || elementsOf(spec) == 0)
    return {};
  for (RankedTensorType type : spec.resultTypes())
    if (type.getNumElements() != elementsOf(spec) || !program::PhysicalLayout::get(type).rowMajor)
      return {};
  Candidate candidate;
  candidate.schedule = "map";
  candidate.phases.push_back({blocksFor(elementsOf(spec), 4 * threads), 0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

FailureOr<KernelText> MapGenerator::write(const KernelSpec &spec,
                                          const Candidate &candidate) const {
  int64_t elements = elementsOf(spec);
  KernelText text(spec, {"map"});
  text.constant("ELEMENTS", elements);
  text.constant("THREADS", threads);
  text.flag("QUADS", true);
  // body(i, a0, a1, ..., r0, ...): one element, from those of the operands that lie like it.
  DeviceFunction function(spec, "body", {"i"});
  Point own = function.linearPoint(function.index(0), elements);
  std::vector<std::string> operands, results;
  struct Given {
    Value value;
    std::string place; ///< its element's, in terms of i
  };
  llvm::MapVector<unsigned, Given> given;
  BodyEmitter body = function.bodyGiven([&](unsigned number, const Point &point) {
    RankedTensorType type = spec.operandTypes()[number];
    if (!program::PhysicalLayout::get(type).rowMajor)
      return Value();
    std::string place = "i";
    if (point != own || type.getNumElements() != elements) {
      std::optional<int64_t> period = function.periodOf(number, point);
      if (!period || *period % 4 != 0)
        return Value();
      place += " % " + std::to_string(*period);
    }
    Given &known = given[number];
    if (!known.value)
      known = {function.addValue("a" + std::to_string(number), storedType(type.getElementType())),
               place};
    return known.place == place ? known.value : Value();
  });
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (failed(function.assign("r" + std::to_string(number),
                               spec.resultTypes()[number].getElementType(),
                               body.emitStored(spec.result(number), own))))
      return failure();
  if (failed(text.add(function)))
    return failure();

  auto word = [](StringRef prefix, size_t number) { return (prefix + Twine(number)).str(); };
  std::string four, one, callFour = "i + l", callOne = "i", storeFour, storeOne;
  for (auto &[number, known] : given) {
    std::string type = storedTypeName(spec.operandTypes()[number].getElementType());
    four += "    Quad<" + type + "> " + word("a", number) + " = loadQuad(" + word("x", number) +
            ", " + known.place + ");\n";
    callFour += ", " + word("a", number) + ".v[l]";
    callOne += ", " + word("x", number) + "[" + known.place + "]";
  }
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    std::string name = storedTypeName(type.getElementType());
    four += "    Quad<" + name + "> " + word("r", number) + ";\n";
    one += "    " + name + " " + word("r", number) + ";\n";
    callFour += ", " + word("r", number) + ".v[l]";
    callOne += ", " + word("r", number);
    storeFour += "    storeQuad(" + word("y", number) + ", i, " + word("r", number) + ");\n";
    storeOne += "    " + word("y", number) + "[i] = " + word("r", number) + ";\n";
  }
  text.members("  __device__ void four(int i) const {\n" + four +
               "#pragma unroll\n    for (int l = 0; l < 4; ++l)\n      body(" + callFour + ");\n" +
               storeFour + "  }\n  __device__ void one(int i) const {\n" + one + "    body(" +
               callOne + ");\n" + storeOne + "  }\n");
  text.phase(threads, "map");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaMapGenerator() {
  return std::make_unique<MapGenerator>();
}
