//===- DLAnchors.cpp - what fusion, reports and kernels' names ask of anchors -----------------===//
//
// Beside kinds: FLOPs, names, and which operands may be computed while they are read. Those are the
// operands that are read a few times at most: a gradient with respect to a window's result is read
// once an element of the window, the image of a convolution once a filter.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"

using namespace mlir;
using namespace dlc::dl;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static uint64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

std::string dlc::dl::timesText(ArrayRef<int64_t> numbers) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(numbers, stream, "x");
  return text;
}

static std::string stageOfData(StringRef parameter) {
  return parameter.empty() ? "backward_data" : gradientStage(parameter);
}

AnchorName AnchorName::get(Operation *op) {
  return {op->getName().stripDialect().str(), timesText(shapeOf(op->getResult(0)))};
}

//===------------------------------------------------------------------------------------------===//
// Reductions, products, updates
//===------------------------------------------------------------------------------------------===//

Anchor ReduceOp::getAnchor() { return Anchor::Reduce; }
uint64_t ReduceOp::getFlops() { return elementsOf(getX()); }
bool ReduceOp::takesPrologue(unsigned) { return true; }
bool ReduceOp::takesAnyLayout() { return true; }
AnchorName ReduceOp::getAnchorName() {
  return {stringifyReduceKind(getKind()).str(), timesText(shapeOf(getX()))};
}

Anchor MomentsOp::getAnchor() { return Anchor::Reduce; }
// Difference, two sums and a square of each element.
uint64_t MomentsOp::getFlops() { return 4 * elementsOf(getX()); }
bool MomentsOp::takesPrologue(unsigned) { return true; }
bool MomentsOp::takesAnyLayout() { return true; }
AnchorName MomentsOp::getAnchorName() { return {"moments", timesText(shapeOf(getX()))}; }

Anchor ScatterAddOp::getAnchor() { return Anchor::Scatter; }
uint64_t ScatterAddOp::getFlops() { return elementsOf(getValues()); }
bool ScatterAddOp::takesPrologue(unsigned operand) { return operand == 0; }
bool ScatterAddOp::takesEpilogue() { return false; }
AnchorName ScatterAddOp::getAnchorName() {
  return {"scatter_add", timesText(shapeOf(getValues()))};
}

Anchor SumRowsOp::getAnchor() { return Anchor::SumRows; }
uint64_t SumRowsOp::getFlops() { return elementsOf(getValues()); }
bool SumRowsOp::takesPrologue(unsigned operand) { return operand == 0; }
bool SumRowsOp::takesEpilogue() { return false; }
AnchorName SumRowsOp::getAnchorName() { return {"sum_rows", timesText(shapeOf(getValues()))}; }

static int64_t depthOf(MatmulOp op) {
  ArrayRef<int64_t> a = shapeOf(op.getA());
  return a[a.size() - (op.getTransposeA() ? 2 : 1)];
}

Anchor MatmulOp::getAnchor() { return Anchor::Gemm; }
uint64_t MatmulOp::getFlops() { return 2 * elementsOf(getC()) * depthOf(*this); }
bool MatmulOp::takesPrologue(unsigned) { return true; }
bool MatmulOp::takesReductions() { return true; }
std::string MatmulOp::getGradientStage(StringRef parameter) { return stageOfData(parameter); }
AnchorName MatmulOp::getAnchorName() {
  std::string name = "matmul_";
  name += getTransposeA() ? "t" : "n";
  name += getTransposeB() ? "t" : "n";
  return {name, timesText(shapeOf(getC())) + "x" + std::to_string(depthOf(*this))};
}

Anchor MultiTensorOp::getAnchor() { return Anchor::MultiTensor; }
AnchorName MultiTensorOp::getAnchorName() {
  return {getResultStreams() != 0 ? "update" : "sums", ""};
}
/// What is computed of scalars and of a tensor's own numbers is computed once for its elements.
uint64_t MultiTensorOp::getFlops() {
  uint64_t elements = 0, flops = 0;
  for (int64_t i = 0; i < getCount(); ++i)
    elements += elementsOf(getTensor(0, i));
  Block &body = getBody().front();
  llvm::DenseSet<Value> ofElement;
  ofElement.insert_range(body.getArguments().take_front(getStreams()));
  if (getNumbered())
    ofElement.insert(body.getArguments().back());
  for (auto op : body.getOps<ElementwiseOp>())
    if (llvm::any_of(op->getOperands(), [&](Value x) { return ofElement.contains(x); })) {
      ofElement.insert(op->getResult(0));
      flops += op.getElementFlops();
    }
  return (flops + getSums()) * elements;
}

Anchor UpdateRowsOp::getAnchor() { return Anchor::UpdateRows; }
AnchorName UpdateRowsOp::getAnchorName() { return {"update_rows", timesText(shapeOf(getRows()))}; }
uint64_t UpdateRowsOp::getFlops() {
  uint64_t flops = 0;
  for (auto op : getBody().front().getOps<ElementwiseOp>())
    flops += op.getElementFlops();
  return flops * elementsOf(getRows());
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

static AnchorName convolutionName(StringRef direction, Value filter, Value image) {
  return {"conv" + timesText(shapeOf(filter).drop_front(2)) + direction.str(),
          timesText(shapeOf(image).drop_front(1))};
}

Anchor ConvolutionOp::getAnchor() { return Anchor::Convolution; }
bool ConvolutionOp::takesAnyLayout() { return true; }
bool ConvolutionOp::takesReductions() { return true; }
uint64_t ConvolutionOp::getFlops() { return getGeometry().flops(); }
AnchorName ConvolutionOp::getAnchorName() { return convolutionName("", getW(), getY()); }

Anchor ConvolutionBackwardDataOp::getAnchor() { return Anchor::Convolution; }
bool ConvolutionBackwardDataOp::takesAnyLayout() { return true; }
bool ConvolutionBackwardDataOp::takesReductions() { return true; }
uint64_t ConvolutionBackwardDataOp::getFlops() { return getGeometry().flops(); }
bool ConvolutionBackwardDataOp::takesPrologue(unsigned operand) { return operand == 0; }
std::string ConvolutionBackwardDataOp::getGradientStage(StringRef parameter) {
  return stageOfData(parameter);
}
AnchorName ConvolutionBackwardDataOp::getAnchorName() {
  return convolutionName("_backward_data", getW(), getDx());
}

Anchor ConvolutionBackwardFilterOp::getAnchor() { return Anchor::Convolution; }
bool ConvolutionBackwardFilterOp::takesAnyLayout() { return true; }
uint64_t ConvolutionBackwardFilterOp::getFlops() { return getGeometry().flops(); }
bool ConvolutionBackwardFilterOp::takesPrologue(unsigned operand) { return operand == 1; }
std::string ConvolutionBackwardFilterOp::getGradientStage(StringRef) { return "backward_filter"; }
AnchorName ConvolutionBackwardFilterOp::getAnchorName() {
  return convolutionName("_backward_filter", getDw(), getDy());
}

//===------------------------------------------------------------------------------------------===//
// Windows
//===------------------------------------------------------------------------------------------===//

Anchor MaxPoolOp::getAnchor() { return Anchor::Window; }
bool MaxPoolOp::takesAnyLayout() { return true; }
uint64_t MaxPoolOp::getFlops() { return elementsOf(getY()) * getGeometry().kernelSize(); }

Anchor MaxPoolBackwardOp::getAnchor() { return Anchor::Window; }
bool MaxPoolBackwardOp::takesAnyLayout() { return true; }
uint64_t MaxPoolBackwardOp::getFlops() { return elementsOf(getDy()); }
bool MaxPoolBackwardOp::takesPrologue(unsigned operand) { return operand == 0; }

Anchor MaxPoolGatherOp::getAnchor() { return Anchor::Window; }
bool MaxPoolGatherOp::takesAnyLayout() { return true; }
uint64_t MaxPoolGatherOp::getFlops() { return 0; }

Anchor AveragePoolOp::getAnchor() { return Anchor::Window; }
bool AveragePoolOp::takesAnyLayout() { return true; }
uint64_t AveragePoolOp::getFlops() { return elementsOf(getY()) * getGeometry().kernelSize(); }

Anchor AveragePoolBackwardOp::getAnchor() { return Anchor::Window; }
bool AveragePoolBackwardOp::takesAnyLayout() { return true; }
uint64_t AveragePoolBackwardOp::getFlops() {
  return elementsOf(getDy()) * getGeometry().kernelSize();
}
bool AveragePoolBackwardOp::takesPrologue(unsigned operand) { return operand == 0; }

// Each element is computed once, whatever the number of sums that it counts in.
Anchor SlidingSumOp::getAnchor() { return Anchor::SlidingSum; }
bool SlidingSumOp::takesPrologue(unsigned) { return true; }
uint64_t SlidingSumOp::getFlops() { return elementsOf(getY()) * (getSize() - 1); }

//===------------------------------------------------------------------------------------------===//
// Samples
//===------------------------------------------------------------------------------------------===//

// Of four pixels: a weight, a product and a sum of each.
static uint64_t flopsOfSamples(Value y) { return 12 * elementsOf(y); }

Anchor GridSampleOp::getAnchor() { return Anchor::Points; }
uint64_t GridSampleOp::getFlops() { return flopsOfSamples(getY()); }

Anchor GridSampleBackwardImageOp::getAnchor() { return Anchor::Points; }
uint64_t GridSampleBackwardImageOp::getFlops() { return flopsOfSamples(getDy()); }

Anchor GridSampleBackwardGridOp::getAnchor() { return Anchor::Points; }
uint64_t GridSampleBackwardGridOp::getFlops() { return flopsOfSamples(getDy()); }
