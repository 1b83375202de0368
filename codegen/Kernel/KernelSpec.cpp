//===- KernelSpec.cpp - reads a kernel's region: anchor, types, identity, name ----------------===//
#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/DL/DLTensorOps.h"
#include "dlc/abi.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Analysis
//===------------------------------------------------------------------------------------------===//

/// The anchor that an op makes, if it is no part of an element-wise body.
static std::optional<Anchor> anchorOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<Anchor>>(&op)
      .Case<dl::ReductionOp>([](auto) { return Anchor::Reduce; })
      .Case<dl::MaxPoolOp, dl::MaxPoolBackwardOp, dl::MaxPoolGatherOp, dl::AveragePoolOp,
            dl::AveragePoolBackwardOp>([](auto) { return Anchor::Window; })
      .Case<dl::SoftmaxCrossEntropyOp, dl::SoftmaxCrossEntropyBackwardOp, dl::AccuracyOp>(
          [](auto) { return Anchor::Softmax; })
      .Case<dl::MatmulOp>([](auto) { return Anchor::Gemm; })
      .Case<dl::ConvolutionOp, dl::ConvolutionBackwardDataOp, dl::ConvolutionBackwardFilterOp>(
          [](auto) { return Anchor::Convolution; })
      .Case<dl::MultiTensorOp>([](auto) { return Anchor::MultiTensor; })
      .Default([](auto) { return std::nullopt; });
}

static LogicalResult checkBodyOp(Operation &op) {
  if (auto constant = dyn_cast<dl::ConstantOp>(op)) {
    if (!isa<SplatElementsAttr>(constant.getValue()))
      return op.emitError("a kernel holds splat constants only: make this one an operand");
    return success();
  }
  if (isa<dl::ElementwiseOp, dl::BroadcastOp, dl::ReshapeOp, dl::TransposeOp, dl::IotaOp,
          dl::YieldOp>(op))
    return success();
  return op.emitError("this op cannot be part of a kernel");
}

/// Sums stand beside a product if they are results and nothing else.
static bool areSumsBeside(Block &block) {
  return llvm::range_size(block.getOps<dl::MatmulOp>()) == 1 &&
         llvm::all_of(block.getOps<dl::ReductionOp>(), [](dl::ReductionOp reduction) {
           auto reduce = dyn_cast<dl::ReduceOp>(*reduction);
           return reduce && reduce.getKind() == dl::ReduceKind::Sum && reduce->hasOneUse() &&
                  isa<dl::YieldOp>(*reduce->user_begin());
         });
}

/// Whether `op` is one more reduction of the anchor's loop nest; none of them waits for another.
bool KernelSpec::joinsAnchor(Operation &op) const {
  auto reduction = dyn_cast<dl::ReductionOp>(op);
  return reduction && kind == Anchor::Reduce && !dependsOnAnchor(reduction.getReduced()) &&
         dl::shareLoops(reductionOps.front(), reduction);
}

void KernelSpec::addAnchor(Operation &op, Anchor anchor) {
  kind = anchor;
  if (!this->op)
    this->op = &op;
  if (auto reduction = dyn_cast<dl::ReductionOp>(op))
    reductionOps.push_back(reduction);
  llvm::append_range(anchorValues, op.getResults());
  behindAnchor.insert_range(op.getResults());
}

/// What reads a value behind the anchor is behind it.
void KernelSpec::follow(Operation &op) {
  if (llvm::any_of(op.getOperands(), [&](Value operand) { return dependsOnAnchor(operand); }))
    behindAnchor.insert_range(op.getResults());
}

FailureOr<KernelSpec> KernelSpec::get(Block &block) {
  KernelSpec spec;
  spec.body = &block;
  if (block.empty() || !isa<dl::YieldOp>(block.back()))
    return emitError(block.getParent()->getLoc(), "a kernel's region ends with dl.yield"),
           failure();
  dl::TransposeOp transpose;
  const bool sumsBeside = areSumsBeside(block);
  for (Operation &op : block) {
    spec.follow(op);
    std::optional<Anchor> anchor = anchorOf(op);
    if (anchor == Anchor::Reduce && sumsBeside) {
      spec.reductionOps.push_back(cast<dl::ReductionOp>(op));
    } else if (anchor && spec.op && !spec.joinsAnchor(op)) {
      InFlightDiagnostic error = op.emitError("a kernel has one anchor, this is the second");
      error.attachNote(spec.op->getLoc()) << "the first";
      return failure();
    } else if (anchor) {
      spec.addAnchor(op, *anchor);
    } else if (failed(checkBodyOp(op))) {
      return failure();
    }
    if (auto found = dyn_cast<dl::TransposeOp>(op))
      transpose = found;
  }
  // A transposition only changes indices; alone, it decides the loops.
  if (!spec.op && transpose) {
    spec.addAnchor(*transpose, Anchor::Transpose);
    for (Operation &op : block)
      spec.follow(op);
  }
  if (auto update = dyn_cast_or_null<dl::MultiTensorOp>(spec.op))
    return spec.setFlatBuffers(update);
  for (Type type : block.getArgumentTypes())
    spec.operands.push_back(cast<RankedTensorType>(type));
  for (Type type : block.back().getOperandTypes())
    spec.results.push_back(cast<RankedTensorType>(type));
  return spec;
}

SmallVector<int64_t> codegen::flatOffsets(dl::MultiTensorOp op) {
  SmallVector<int64_t> offsets{0};
  for (int64_t i = 0; i < op.getCount(); ++i) {
    int64_t bytes = storageBytes(cast<RankedTensorType>(op.getTensor(0, i).getType()));
    offsets.push_back(offsets.back() + llvm::alignTo(bytes, DLC_ALIGNMENT));
  }
  return offsets;
}

FailureOr<KernelSpec> KernelSpec::setFlatBuffers(dl::MultiTensorOp update) {
  auto first = cast<RankedTensorType>(update.getTensor(0, 0).getType());
  for (Value tensor : update.getTensors())
    if (getElementTypeOrSelf(tensor) != first.getElementType())
      return update.emitError("one update takes tensors of one element type, found ")
             << getElementTypeOrSelf(tensor) << " beside " << first.getElementType();
  int64_t elements = flatOffsets(update).back() / storageBytes(first.getElementType());
  auto flat = RankedTensorType::get({elements}, first.getElementType());
  operands.assign(update.getStreams(), flat);
  for (Value scalar : update.getScalars())
    operands.push_back(cast<RankedTensorType>(scalar.getType()));
  results.assign(update.getResults().size() / update.getCount(), flat);
  return *this;
}

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

int64_t codegen::product(ArrayRef<int64_t> extents) { return llvm::product_of(extents); }

int64_t codegen::storageBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t codegen::storageBytes(RankedTensorType type) {
  return PhysicalLayout::get(type).elements * storageBytes(type.getElementType());
}

PhysicalLayout PhysicalLayout::get(RankedTensorType type) {
  PhysicalLayout result;
  auto layout = dyn_cast_or_null<dl::LayoutAttr>(type.getEncoding());
  ArrayRef<int64_t> blocks = layout ? layout.getBlocks() : ArrayRef<int64_t>();
  // The inner blocks of an axis: the product of the block sizes that come at or after a place.
  auto blockOf = [&](int64_t axis, size_t after) {
    int64_t size = 1;
    for (size_t i = after; i + 1 < blocks.size(); i += 2)
      size *= blocks[i] == axis ? blocks[i + 1] : 1;
    return size;
  };
  for (int64_t place = 0; place < type.getRank(); ++place) {
    int64_t axis = layout ? layout.getOrder()[place] : place, block = blockOf(axis, 0);
    result.rowMajor &= axis == place && block == 1;
    int64_t extent = llvm::divideCeilSigned(type.getDimSize(axis), block);
    result.dimensions.push_back({axis, block, extent, 1});
  }
  for (size_t i = 0; i + 1 < blocks.size(); i += 2)
    result.dimensions.push_back({blocks[i], blockOf(blocks[i], i + 2), blocks[i + 1], 1});
  for (Dimension &dimension : llvm::reverse(result.dimensions)) {
    dimension.stride = result.elements;
    result.elements *= dimension.extent;
  }
  return result;
}

static uint64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static uint64_t flopsOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, uint64_t>(&op)
      .Case<dl::ConvolutionOp, dl::ConvolutionBackwardDataOp, dl::ConvolutionBackwardFilterOp>(
          [](auto conv) { return conv.getGeometry().flops(); })
      .Case<dl::MatmulOp>([](dl::MatmulOp matmul) {
        auto a = cast<RankedTensorType>(matmul.getA().getType());
        int64_t depth = a.getDimSize(a.getRank() - (matmul.getTransposeA() ? 2 : 1));
        return 2 * elementsOf(matmul.getC()) * depth;
      })
      .Case<dl::ReduceOp>([](dl::ReduceOp reduce) { return elementsOf(reduce.getX()); })
      // Difference, two sums and a square of each element.
      .Case<dl::MomentsOp>([](dl::MomentsOp moments) { return 4 * elementsOf(moments.getX()); })
      .Case<dl::MaxPoolOp, dl::AveragePoolOp>(
          [](auto pool) { return elementsOf(pool.getY()) * pool.getGeometry().kernelSize(); })
      .Case<dl::MaxPoolBackwardOp>([](auto pool) { return elementsOf(pool.getDy()); })
      .Case<dl::AveragePoolBackwardOp>(
          [](auto pool) { return elementsOf(pool.getDy()) * pool.getGeometry().kernelSize(); })
      // Maximum, difference, exponential and sum of each logit; backward also scales and subtracts.
      .Case<dl::SoftmaxCrossEntropyOp>([](auto op) { return 4 * elementsOf(op.getLogits()); })
      .Case<dl::SoftmaxCrossEntropyBackwardOp>(
          [](auto op) { return 6 * elementsOf(op.getLogits()); })
      .Case<dl::AccuracyOp>([](auto op) { return elementsOf(op.getLogits()); })
      .Case<dl::MultiTensorOp>([](dl::MultiTensorOp op) {
        uint64_t elements = 0, steps = 0;
        for (int64_t i = 0; i < op.getCount(); ++i)
          elements += elementsOf(op.getTensor(0, i));
        for (Operation &inner : op.getBody().front())
          steps += isa<dl::ElementwiseOp>(inner);
        return steps * elements;
      })
      .Case<dl::CastOp, dl::SelectOp, dl::CompareOp, dl::ConvertLayoutOp>([](auto) { return 0; })
      .Case<dl::ElementwiseOp>([](Operation *op) { return elementsOf(op->getResult(0)); })
      .Default([](auto) { return 0; });
}

uint64_t KernelSpec::flops() const {
  uint64_t total = 0;
  for (Operation &inner : *body)
    total += flopsOf(inner);
  return total;
}

uint64_t KernelSpec::bytes() const {
  uint64_t total = 0;
  for (RankedTensorType type : operands)
    total += storageBytes(type);
  for (RankedTensorType type : results)
    total += storageBytes(type);
  return total;
}

//===------------------------------------------------------------------------------------------===//
// Identity and name
//===------------------------------------------------------------------------------------------===//

/// The region travels as the body of a dl.fused whose operands come from nowhere.
std::string KernelSpec::canonicalText() const {
  MLIRContext *context = body->getParent()->getContext();
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Value> inputs;
  if (body->getNumArguments() != 0) {
    auto source =
        UnrealizedConversionCastOp::create(builder, loc, body->getArgumentTypes(), ValueRange());
    inputs.append(source.result_begin(), source.result_end());
  }
  auto fused = dl::FusedOp::create(builder, loc, body->back().getOperandTypes(), inputs);
  Block *copy = &fused.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : body->getArguments())
    mapping.map(argument, copy->addArgument(argument.getType(), loc));
  builder.setInsertionPointToEnd(copy);
  for (Operation &inner : *body)
    builder.clone(inner, mapping)->setDiscardableAttrs(DictionaryAttr::get(context));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

FailureOr<OwningOpRef<ModuleOp>> codegen::parseKernel(StringRef text, MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(context));
  if (!module)
    return failure();
  auto fused = module->getOps<dl::FusedOp>();
  if (std::distance(fused.begin(), fused.end()) != 1)
    return emitError(module->getLoc(), "a kernel's text holds one dl.fused"), failure();
  return module;
}

Block &codegen::kernelBlock(ModuleOp module) {
  return (*module.getOps<dl::FusedOp>().begin()).getBody().front();
}

void codegen::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<dl::DLDialect, arith::ArithDialect, cf::ControlFlowDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
}

static std::string times(ArrayRef<int64_t> numbers) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(numbers, stream, "x");
  return text;
}

/// The anchor's part of a name, with the sizes that make it a problem.
static std::pair<std::string, std::string> anchorName(Operation *op) {
  auto sizes = [](Value value) {
    return times(cast<RankedTensorType>(value.getType()).getShape());
  };
  auto conv = [&](StringRef suffix, Value filter, Value image) {
    auto kernel = cast<RankedTensorType>(filter.getType()).getShape().drop_front(2);
    auto shape = cast<RankedTensorType>(image.getType()).getShape().drop_front(1);
    return std::pair("conv" + times(kernel) + suffix.str(), times(shape));
  };
  return llvm::TypeSwitch<Operation *, std::pair<std::string, std::string>>(op)
      .Case<dl::ConvolutionOp>([&](auto c) { return conv("", c.getW(), c.getY()); })
      .Case<dl::ConvolutionBackwardDataOp>(
          [&](auto c) { return conv("_backward_data", c.getW(), c.getDx()); })
      .Case<dl::ConvolutionBackwardFilterOp>(
          [&](auto c) { return conv("_backward_filter", c.getDw(), c.getDy()); })
      .Case<dl::MatmulOp>([&](dl::MatmulOp m) {
        auto a = cast<RankedTensorType>(m.getA().getType());
        int64_t depth = a.getDimSize(a.getRank() - (m.getTransposeA() ? 2 : 1));
        std::string name = "matmul_" + std::string(m.getTransposeA() ? "t" : "n") +
                           (m.getTransposeB() ? "t" : "n");
        return std::pair(name, sizes(m.getC()) + "x" + std::to_string(depth));
      })
      .Case<dl::ReduceOp>([&](dl::ReduceOp r) {
        return std::pair(dl::stringifyReduceKind(r.getKind()).str(), sizes(r.getX()));
      })
      .Case<dl::MomentsOp>([&](auto m) { return std::pair("moments", sizes(m.getX())); })
      .Case<dl::MultiTensorOp>([&](auto) { return std::pair("update", std::string()); })
      .Default([&](Operation *op) {
        return std::pair(op->getName().stripDialect().str(), sizes(op->getResult(0)));
      });
}

std::string KernelSpec::stem() const {
  const size_t maxOps = 3;
  std::string before, after, sizes, anchorText;
  size_t named = 0;
  for (Operation &inner : *body) {
    if (anchorResult(inner.getNumResults() ? inner.getResult(0) : Value())) {
      std::string name;
      std::tie(name, sizes) = anchorName(&inner);
      anchorText += (anchorText.empty() ? "" : "_") + name;
      continue;
    }
    if (!isa<dl::ElementwiseOp>(inner) ||
        isa<dl::SelectOp, dl::CastOp, dl::CompareOp, dl::ConvertLayoutOp>(inner) ||
        ++named > maxOps)
      continue;
    // An addition of a broadcast vector is a bias.
    bool bias = isa<dl::AddOp>(inner) && llvm::any_of(inner.getOperands(), [](Value operand) {
                  return isa_and_nonnull<dl::BroadcastOp>(operand.getDefiningOp());
                });
    std::string name = bias ? "bias" : inner.getName().stripDialect().str();
    (dependsOnAnchor(inner.getResult(0)) || !op ? after : before) += "_" + name;
  }
  if (sizes.empty() && !results.empty() && kind != Anchor::MultiTensor)
    sizes = times(results.front().getShape());
  std::string text = before + (anchorText.empty() ? "" : "_" + anchorText) + after;
  if (text.empty())
    text = "_copy";
  return text.substr(1) + (sizes.empty() ? "" : "_" + sizes);
}
