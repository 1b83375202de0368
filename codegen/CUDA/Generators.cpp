//===- Generators.cpp - the list of CUDA's generators, and what they share --------------------===//
#include "codegen/CUDA/Product/TileProductGenerator.h"
#include "dialects/DL/Facts/Slice.h"
#include "dlc/abi.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

llvm::ArrayRef<const CudaGenerator *> dlc::codegen::cudaGenerators() {
  static const std::unique_ptr<CudaGenerator> owned[] = {
      createCudaMapGenerator(),         createCudaReduceGenerator(),
      createCudaRowPassesGenerator(),   createCudaWindowGenerator(),
      createCudaSlidingSumGenerator(),  createCudaTransposeGenerator(),
      createCudaMultiTensorGenerator(), createCudaSumRowsGenerator(),
      createCudaUpdateRowsGenerator(),  createCudaAttentionGenerator(),
      createCudaProductGenerator(),     createCudaWinogradGenerator(),
      createCudaFourierGenerator(),     createCudaPatchesGenerator(),
      createLibraryGenerator(),         createCudaElementsGenerator()};
  static const auto pointers = [] {
    std::array<const CudaGenerator *, std::size(owned)> result;
    llvm::transform(owned, result.begin(), [](auto &generator) { return generator.get(); });
    return result;
  }();
  return pointers;
}

/// Why kernels cannot hold a tensor that they `read`; empty if they can.
static std::string refusalOf(RankedTensorType type, StringRef read) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (storedTypeName(type.getElementType()).empty())
    stream << "it " << read << " " << type << ", and CUDA kernels have no "
           << type.getElementType();
  else if (const int64_t elements = program::PhysicalLayout::get(type).elements;
           elements >= std::numeric_limits<int32_t>::max())
    stream << "it " << read << " " << type << " of " << elements
           << " elements, and CUDA kernels count them in 32 bits, up to "
           << std::numeric_limits<int32_t>::max() - 1;
  return text;
}

/// Why no kernel holds what the spec reads, writes or computes on the way; empty if one can.
static std::string tensorRefusal(const KernelSpec &spec) {
  for (auto [types, read] :
       {std::pair(spec.operandTypes(), "reads"), {spec.resultTypes(), "writes"}})
    for (RankedTensorType type : types)
      if (std::string refusal = refusalOf(type, read); !refusal.empty())
        return refusal;
  for (Operation &op : spec.block())
    for (Type type : op.getResultTypes())
      if (std::string refusal = refusalOf(cast<RankedTensorType>(type), "computes");
          !refusal.empty())
        return refusal;
  return "";
}

bool codegen::fitsCuda(const KernelSpec &spec) { return tensorRefusal(spec).empty(); }

std::string codegen::cudaRefusal(const KernelSpec &spec) {
  if (std::string refusal = tensorRefusal(spec); !refusal.empty())
    return refusal;
  if (spec.anchor() == Anchor::Scatter)
    return "there is no other code for scatter_add on CUDA";
  return "what is fused around it needs single elements";
}

/// A multiprocessor loads a fourth of what it multiplies in the same time.
static const double loadOperations = 4;

/// Of an element.
static double operationsOf(Value value) {
  if (isa<BlockArgument>(value))
    return loadOperations;
  auto op = value.getDefiningOp<dl::ElementwiseOp>();
  return op ? op.getElementFlops() : 0;
}

double codegen::readingOperations(Value operand) {
  double operations = 0;
  for (Value value : dl::backwardSlice(operand))
    operations += operationsOf(value);
  return std::max(0.0, operations - loadOperations);
}

double codegen::finishingOperations(const KernelSpec &spec) {
  llvm::SetVector<Value> slice;
  for (Value result : spec.block().back().getOperands())
    if (spec.passOf(result) == 1)
      slice.insert(result);
  if (spec.hasReductionsBehind())
    for (dl::ReductionOp op : spec.reductions())
      slice.insert(op.getReduced());
  double operations = 0;
  for (size_t i = 0; i < slice.size(); ++i) {
    if (spec.anchorResult(slice[i]))
      continue;
    operations += operationsOf(slice[i]);
    if (Operation *op = slice[i].getDefiningOp())
      slice.insert(op->operand_begin(), op->operand_end());
  }
  return operations;
}

/// As codegen/CUDA/simt/simt.h lays it out: stacks at a multiple of their size, the block, its
/// shared memory.
uint64_t codegen::simtScratchBytes(uint32_t threads) {
  const uint64_t stack = 1 << 15, block = 16 << 10, shared = 48 << 10;
  return (threads + 1) * stack + block + shared;
}

/// Kernels count its elements, of 4 bytes or more, as ints.
static const uint64_t mostWorkspace = 4 * uint64_t(std::numeric_limits<int32_t>::max());

SmallVector<Candidate> TextGenerator::candidates(const KernelSpec &spec,
                                                 const CudaTarget &target) const {
  SmallVector<Candidate> all;
  if (!fitsCuda(spec))
    return all;
  for (Candidate &candidate : schedules(spec, target)) {
    FailureOr<KernelText> text = write(spec, candidate);
    if (failed(text) || candidate.workspaceBytes > mostWorkspace)
      continue;
    candidate.text = std::make_shared<const CudaText>(text->finish());
    for (const CudaText::Function &function : candidate.text->functions) {
      Phase &phase = candidate.phases[function.phase];
      phase.threads = function.threads;
      phase.scratchBytes = target.simt ? simtScratchBytes(phase.threads) : 0;
    }
    all.push_back(std::move(candidate));
  }
  return all;
}
