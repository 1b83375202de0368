//===- RowsGenerator.cpp - sparse gradients: sums of rows, and the update of a table's rows ---===//
//
// A block a row. Places of one number are found by looking at all of them, a warp each: the square
// of a few thousand rows is little beside a pass over a table.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128;

namespace {
class SumRowsGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-sum-rows"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

class UpdateRowsGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-update-rows"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

static bool isRowMajor(RankedTensorType type) {
  return program::PhysicalLayout::get(type).rowMajor;
}

static bool isSummed(Type element) { return element.isF32() || element.isF64(); }

/// __device__ int number(int j): operand `number` of the kernel.
static std::string numberMember(const KernelSpec &spec, unsigned number) {
  return "  __device__ " + storedTypeName(spec.operandTypes()[number].getElementType()) +
         " number(int j) const { return " + bufferName(spec, number) + "[j]; }\n";
}

static void addSizes(KernelText &text, int64_t count, int64_t width, int64_t extent) {
  text.constant("THREADS", threads);
  text.constant("COUNT", count);
  text.constant("WIDTH", width);
  text.constant("EXTENT", extent);
}

//===------------------------------------------------------------------------------------------===//
// cuda-sum-rows
//===------------------------------------------------------------------------------------------===//

SmallVector<Candidate> SumRowsGenerator::schedules(const KernelSpec &spec,
                                                   const CudaTarget &target) const {
  auto op = dyn_cast_or_null<dl::SumRowsOp>(spec.anchorOp());
  if (!op || op.getCount() == 0)
    return {};
  Candidate candidate;
  candidate.schedule = "sum_rows";
  candidate.phases = {{blocksFor(op.getCount(), threads / 32), 0}, {uint64_t(op.getCount()), 0}};
  candidate.workspaceBytes = 4 * op.getCount();
  candidate.phases.front().sideBytes = 2 * candidate.workspaceBytes;
  candidate.inPlace = false;
  const double looks = double(op.getCount()) * double(op.getCount());
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops() + 4 * looks, 2);
  return {candidate};
}

FailureOr<KernelText> SumRowsGenerator::write(const KernelSpec &spec,
                                              const Candidate &candidate) const {
  auto op = cast<dl::SumRowsOp>(spec.anchorOp());
  auto index = dyn_cast<BlockArgument>(op.getIndex());
  Type element = getElementTypeOrSelf(op.getRows());
  if (!index || spec.resultTypes().size() != 2 || spec.result(0) != op.getRows() ||
      spec.result(1) != op.getNumbers() || !llvm::all_of(spec.resultTypes(), isRowMajor) ||
      !isRowMajor(spec.operandTypes()[index.getArgNumber()]) || !isSummed(element))
    return failure();
  KernelText text(spec, {"rows"});
  addSizes(text, op.getCount(), op.getWidth(), op.getExtent());
  text.type("Element", storedTypeName(element));
  text.workspace(IntegerType::get(op.getContext(), 32));
  text.members(numberMember(spec, index.getArgNumber()));
  DeviceFunction value(spec, "value", {"j", "i"});
  BodyEmitter body = value.body();
  value.returns(body.emit(op.getValues(), DeviceFunction::point({op.getCount(), op.getWidth()},
                                                                {value.index(0), value.index(1)})));
  if (failed(text.add(value)))
    return failure();
  const std::string number = storedTypeName(spec.resultTypes()[1].getElementType());
  text.members(
      "  __device__ void storeSum(int j, int i, Element v) const { y0[j * WIDTH + i] = v; }\n"
      "  __device__ void storeNumber(int j, " +
      number + " n) const { y1[j] = n; }\n");
  text.phase(threads, "linkRows");
  text.phase(threads, "sumRows");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaSumRowsGenerator() {
  return std::make_unique<SumRowsGenerator>();
}

//===------------------------------------------------------------------------------------------===//
// cuda-update-rows
//===------------------------------------------------------------------------------------------===//

SmallVector<Candidate> UpdateRowsGenerator::schedules(const KernelSpec &spec,
                                                      const CudaTarget &target) const {
  auto op = dyn_cast_or_null<dl::UpdateRowsOp>(spec.anchorOp());
  if (!op || op.getCount() == 0)
    return {};
  Candidate candidate;
  candidate.schedule = "update_rows";
  candidate.phases = {{uint64_t(op.getCount()), 0}};
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

/// update(row, own, i): calls `body` with the elements, and stores what it makes.
static std::string updateMember(const KernelSpec &spec, dl::UpdateRowsOp op) {
  const unsigned tensors = op.getTensors().size();
  std::string before, arguments, after;
  auto argument = [&](const std::string &text) {
    arguments += (arguments.empty() ? "" : ", ") + text;
  };
  for (unsigned i = 0; i < tensors; ++i)
    argument(bufferName(spec, i) + "[place]");
  argument(bufferName(spec, tensors) + "[own * WIDTH + i]");
  for (unsigned i = 0; i < op.getScalars().size(); ++i)
    argument(bufferName(spec, tensors + 2 + i) + "[0]");
  for (unsigned i = 0; i < tensors; ++i) {
    std::string n = std::to_string(i);
    before += "    " + storedTypeName(spec.resultTypes()[i].getElementType()) + " r" + n + ";\n";
    argument("r" + n);
    after += "    y" + n + "[place] = r" + n + ";\n";
  }
  return "  __device__ void update(int row, int own, int i) const {\n    int place = row * WIDTH + "
         "i;\n" +
         before + "    body(" + arguments + ");\n" + after + "  }\n";
}

FailureOr<KernelText> UpdateRowsGenerator::write(const KernelSpec &spec,
                                                 const Candidate &candidate) const {
  auto op = cast<dl::UpdateRowsOp>(spec.anchorOp());
  if (!llvm::all_of(spec.resultTypes(), isRowMajor))
    return failure();
  Block &block = op.getBody().front();
  FailureOr<KernelSpec> inner = KernelSpec::get(block);
  if (failed(inner))
    return failure();
  KernelText text(spec, {"rows"});
  addSizes(text, op.getCount(), op.getWidth(), spec.operandTypes()[0].getDimSize(0));
  text.members(numberMember(spec, op.getTensors().size() + 1));
  DeviceFunction function(spec, "body", {});
  SmallVector<Value> given;
  for (auto [number, type] : llvm::enumerate(block.getArgumentTypes()))
    given.push_back(function.addValue("a" + std::to_string(number), getElementTypeOrSelf(type)));
  BodyEmitter body = function.body(*inner, [&](unsigned number) { return given[number]; });
  for (auto [number, value] : llvm::enumerate(block.back().getOperands()))
    if (failed(function.assign("r" + std::to_string(number), getElementTypeOrSelf(value),
                               body.emit(value, {}))))
      return failure();
  if (failed(text.add(function)))
    return failure();
  text.members(updateMember(spec, op));
  text.phase(threads, "updateRows");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaUpdateRowsGenerator() {
  return std::make_unique<UpdateRowsGenerator>();
}
