//===- MultiTensorGenerator.cpp - one element-wise function over many tensors -----------------===//
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/DLProgramOps.h"
#include "passes/Conversion/Storage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256;
static const int64_t chunk = 4096; // elements of a block

namespace {
class MultiTensorGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-multi-tensor"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// A tensor's place in the flat buffers, in elements, and its first block.
struct Row {
  int64_t firstBlock, offset, size;
};
} // namespace

/// Tensors with elements, and the number of all blocks.
static std::pair<SmallVector<Row>, int64_t> rowsOf(dl::MultiTensorOp op) {
  const SmallVector<int64_t> offsets = flatLayout(op).offsets;
  SmallVector<Row> rows;
  int64_t blocks = 0;
  for (int64_t i = 0; i < op.getCount(); ++i) {
    auto type = cast<RankedTensorType>(op.getTensor(0, i).getType());
    int64_t size = program::PhysicalLayout::get(type).elements;
    rows.push_back({blocks, offsets[i] / program::elementBytes(type.getElementType()), size});
    blocks += llvm::divideCeil(size, chunk);
  }
  return {rows, blocks};
}

SmallVector<Candidate> MultiTensorGenerator::schedules(const KernelSpec &spec,
                                                       const CudaTarget &target) const {
  if (spec.anchor() != Anchor::MultiTensor)
    return {};
  Candidate candidate;
  candidate.schedule = "multi_tensor chunk " + std::to_string(chunk);
  int64_t blocks = rowsOf(cast<dl::MultiTensorOp>(spec.anchorOp())).second;
  candidate.phases.push_back({uint32_t(blocks), 0});
  candidate.cost = gpuSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

/// name(elements, multipliers, scalars, results): `four` with quads, or `one`.
static std::string printCaller(const KernelSpec &spec, bool quads, const std::string &element,
                               int64_t multipliers) {
  auto op = cast<dl::MultiTensorOp>(spec.anchorOp());
  unsigned streams = op.getStreams(), scalars = op.getScalars().size();
  std::string before, arguments, after, suffix = quads ? ".v[l]" : "";
  std::string type = quads ? "Quad<" + element + ">" : element;
  for (unsigned i = 0; i < streams; ++i) {
    std::string n = std::to_string(i);
    before += "    " + type + " a" + n + " = " +
              (quads ? "loadQuad(x" + n + ", i);\n" : "x" + n + "[i];\n");
    arguments += (i ? ", a" : "a") + n + suffix;
  }
  for (int64_t i = 0; i < multipliers; ++i)
    arguments +=
        ", MULTIPLIERS[tensor * " + std::to_string(multipliers) + " + " + std::to_string(i) + "]";
  for (unsigned i = 0; i < scalars; ++i)
    arguments += ", x" + std::to_string(streams + i) + "[0]";
  for (unsigned i = 0; i < spec.resultTypes().size(); ++i) {
    std::string n = std::to_string(i);
    before += "    " + type + " r" + n + ";\n";
    arguments += ", r" + n + suffix;
    after +=
        quads ? "    storeQuad(y" + n + ", i, r" + n + ");\n" : "    y" + n + "[i] = r" + n + ";\n";
  }
  std::string loop =
      quads ? "#pragma unroll\n    for (int l = 0; l < 4; ++l)\n      body(" : "    body(";
  return std::string("  __device__ void ") + (quads ? "four" : "one") +
         "(int i, int tensor) const {\n" + before + loop + arguments + ");\n" + after + "  }\n";
}

FailureOr<KernelText> MultiTensorGenerator::write(const KernelSpec &spec,
                                                  const Candidate &candidate) const {
  auto op = cast<dl::MultiTensorOp>(spec.anchorOp());
  FailureOr<KernelSpec> inner = KernelSpec::get(op.getBody().front());
  if (failed(inner))
    return failure();
  KernelText text(spec, {"multi_tensor"});
  text.constant("THREADS", threads);
  text.constant("COUNT", op.getCount());
  text.constant("CHUNK", chunk);
  std::string table, factors;
  for (const Row &row : rowsOf(op).first)
    table += "    {" + std::to_string(row.firstBlock) + ", " + std::to_string(row.offset) + ", " +
             std::to_string(row.size) + "},\n";
  llvm::raw_string_ostream stream(factors);
  llvm::interleaveComma(op.getMultipliers(), stream,
                        [&](double factor) { stream << llvm::format("float(%.9g)", factor); });
  text.declare("__constant__ Tensor TENSORS[] = {\n" + table + "};\n");
  if (!factors.empty())
    text.declare("__constant__ float MULTIPLIERS[] = {" + factors + "};\n");

  DeviceFunction function(spec, "body", {});
  SmallVector<Value> given;
  Type element = getElementTypeOrSelf(op.getTensor(0, 0));
  for (auto [number, type] : llvm::enumerate(op.getBody().front().getArgumentTypes()))
    given.push_back(function.addValue("a" + std::to_string(number), getElementTypeOrSelf(type)));
  BodyEmitter body = function.body(*inner, [&](unsigned number) { return given[number]; });
  for (auto [number, value] : llvm::enumerate(op.getBody().front().back().getOperands()))
    if (failed(function.assign("r" + std::to_string(number), element, body.emit(value, {}))))
      return failure();
  if (failed(text.add(function)))
    return failure();
  int64_t multipliers = op.getMultipliersPerTensor();
  for (bool quads : {true, false})
    text.members(printCaller(spec, quads, storedTypeName(element), multipliers));
  text.phaseCalling(
      threads, [](StringRef problem) { return ("multiTensor(" + problem + ", TENSORS)").str(); });
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaMultiTensorGenerator() {
  return std::make_unique<MultiTensorGenerator>();
}
