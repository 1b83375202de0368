//===- OutlineKernels.cpp - regions become kernels, equal ones share one ----------------------===//
//
// The flat buffers of a multi-tensor update may lie in each other's places in every pair, because
// all streams are read at an index before anything is written there.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Conversion/OutlineKernels.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/Program/Layout.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Conversion/FlatLayout.h"
#include "passes/Conversion/StorageOrder.h"
#include "passes/DL/Choice/EqualRegions.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dlc {

/// Regions that are equal, with one choice, have one text: to print one costs far more than to
/// compare two.
exec::KernelOp KernelOutliner::outlineOnce(dl::FusedOp fused) {
  auto &alike = outlined[dl::hashOfRegion(fused)];
  for (auto [other, kernel] : alike)
    if (other.getCandidateAttr() == fused.getCandidateAttr() &&
        other->hasAttr(dl::updateAttr) == fused->hasAttr(dl::updateAttr) &&
        dl::haveEqualRegions(other, fused))
      return kernel;
  MLIRContext *context = fused.getContext();
  SmallVector<exec::ArgumentAttr> buffers;
  auto add = [&](Type type, exec::Access access) {
    buffers.push_back(exec::ArgumentAttr::get(context, access,
                                              program::storageBytes(cast<RankedTensorType>(type))));
  };
  for (Type type : fused.getOperands().getTypes())
    add(type, exec::Access::Read);
  for (Type type : fused.getResultTypes())
    add(type, exec::Access::Write);
  SmallVector<exec::InPlaceAttr> inPlace;
  for (auto [operand, result] : dl::findInPlacePairs(fused))
    inPlace.push_back(exec::InPlaceAttr::get(context, operand, fused->getNumOperands() + result));
  exec::KernelOp kernel =
      create(fused, buffers, inPlace, fused.getCandidateAttr(), [&](Region &region) {
        IRMapping mapping;
        fused.getBody().cloneInto(&region, mapping);
        adoptStorageOrder(region.front());
      });
  alike.push_back({fused, kernel});
  return kernel;
}

exec::KernelOp KernelOutliner::outline(dl::FusedOp fused) {
  exec::KernelOp kernel = outlineOnce(fused);
  // For the report, and no part of a kernel's identity: what would have been second depends on the
  // tensors around a region.
  if (!kernel.getSecondBestAttr())
    kernel.setSecondBestAttr(fused.getSecondBestAttr());
  return kernel;
}

/// Makes the op what a kernel's region computes.
static void holdAlone(Operation *op, Region &region) {
  Block &block = region.emplaceBlock();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, block.addArgument(operand.getType(), operand.getLoc()));
  // An operand that stands twice in the list is two arguments: the clone's operands are set by
  // place.
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  Operation *clone = builder.clone(*op, mapping);
  clone->setOperands(block.getArguments());
  dl::YieldOp::create(builder, op->getLoc(), clone->getResults());
}

exec::KernelOp KernelOutliner::outline(dl::MultiTensorOp multi) {
  MLIRContext *context = multi.getContext();
  FlatLayout flat(multi);
  SmallVector<exec::ArgumentAttr> buffers;
  auto add = [&](exec::Access access, int64_t bytes) {
    buffers.push_back(exec::ArgumentAttr::get(context, access, bytes));
  };
  auto addTensor = [&](exec::Access access, Type type) {
    add(access, program::storageBytes(cast<RankedTensorType>(type)));
  };
  SmallVector<Type> streams = multi.getStreamElements(), results = multi.getResultElements();
  for (Type element : streams)
    add(exec::Access::Read, flat.total * program::elementBytes(element));
  for (ValueRange operands : {ValueRange(multi.getEach()), ValueRange(multi.getScalars())})
    for (Type type : operands.getTypes())
      addTensor(exec::Access::Read, type);
  addTensor(exec::Access::Read, flat.pieceTable(context).getType());
  if (multi.getSums() != 0)
    addTensor(exec::Access::Read, flat.firstPieces(context).getType());
  const size_t firstResult = buffers.size();
  for (Type element : results)
    add(exec::Access::Write, flat.total * program::elementBytes(element));
  for (int64_t sum = 0; sum < int64_t(multi.getSums()); ++sum)
    addTensor(exec::Access::Write, multi.getSum(sum).getType());
  SmallVector<exec::InPlaceAttr> pairs;
  for (auto [stream, read] : llvm::enumerate(streams))
    for (auto [result, written] : llvm::enumerate(results))
      if (read == written)
        pairs.push_back(exec::InPlaceAttr::get(context, stream, firstResult + result));
  return create(multi, buffers, pairs, /*candidate=*/{},
                [&](Region &region) { holdAlone(multi, region); });
}

/// Rows that no one has a gradient of are not written, so each result lies in its tensor's place.
exec::KernelOp KernelOutliner::outline(dl::UpdateRowsOp update) {
  MLIRContext *context = update.getContext();
  SmallVector<exec::ArgumentAttr> buffers;
  SmallVector<exec::InPlaceAttr> pairs;
  auto add = [&](exec::Access access, Type type) {
    buffers.push_back(exec::ArgumentAttr::get(context, access,
                                              program::storageBytes(cast<RankedTensorType>(type))));
  };
  for (Type type : update->getOperandTypes())
    add(exec::Access::Read, type);
  for (auto [number, type] : llvm::enumerate(update->getResultTypes())) {
    pairs.push_back(exec::InPlaceAttr::get(context, number, buffers.size()));
    add(exec::Access::Write, type);
  }
  return create(update, buffers, pairs, /*candidate=*/{},
                [&](Region &region) { holdAlone(update, region); });
}

exec::KernelOp KernelOutliner::create(Operation *source, ArrayRef<exec::ArgumentAttr> buffers,
                                      ArrayRef<exec::InPlaceAttr> inPlace,
                                      program::CandidateAttr candidate,
                                      llvm::function_ref<void(Region &)> fill) {
  OpBuilder builder(before);
  auto array = [&](auto list) {
    return builder.getArrayAttr(SmallVector<Attribute>(list.begin(), list.end()));
  };
  auto kernel =
      exec::KernelOp::create(builder, builder.getUnknownLoc(), StringRef("k"), array(buffers),
                             inPlace.empty() ? ArrayAttr() : array(inPlace), ArrayAttr(), 0, 0,
                             StringAttr(), program::CandidateAttr(), program::CandidateAttr(),
                             program::CandidateAttr(), 0, 0, exec::PreparationAttr());
  fill(kernel.getBody());
  const bool isChosen = candidate && candidate.getGenerator();
  std::string text = isChosen ? candidate.describe() : "";
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  auto [known, isNew] = kernels.try_emplace(text, kernel);
  if (!isNew) {
    kernel.erase();
    return known->second;
  }
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  kernel.setSymName(llvm::formatv("k_{0:x-16}", hash.high64 ^ hash.low64).str());
  kernel->setLoc(source->getLoc());
  if (isChosen)
    kernel.setCandidateAttr(candidate);
  return kernel;
}

} // namespace dlc
