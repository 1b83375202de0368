//===- LayoutsRandomTest.cpp - layouts on random graphs of images -----------------------------===//
//
// Graphs that nobody would draw, of convolutions, pooling, products, transpositions, reductions and
// element-wise ops on images, with variables that are read and assigned. Fused and laid out they
// verify, and give what they gave. So they do when every kernel that knows no axes is rewritten to
// the order of memory, with transpositions around it.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLEntryOps.h"
#include "dialects/DL/DLFusedOps.h"
#include "dialects/DL/DLIndexOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Conversion/StorageOrder.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "test/passes/FakeCandidates.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

/// Draws a program as text. Kinds of values: image [2, 3, 4, 4], vector [3] of channels, plane [2,
/// 4, 4] of pixels.
class ProgramText {
public:
  explicit ProgramText(unsigned seed) : random(seed) {}
  std::string draw(unsigned ops);

private:
  enum Kind { Image, Vector, Plane };
  unsigned pick(unsigned count) { return random() % count; }
  std::string any(Kind kind) { return values[kind][pick(values[kind].size())]; }
  /// Adds "%n = text" of a kind; "$" in it is the type of an image.
  std::string add(Kind kind, std::string text);
  void image();
  void reduced();

  std::mt19937 random;
  std::string body;
  unsigned next = 0;
  std::vector<std::string> values[3];
};

} // namespace

static const std::string imageType = "tensor<2x3x4x4xf32>", vectorType = "tensor<3xf32>",
                         planeType = "tensor<2x4x4xf32>", filterType = "tensor<3x3x3x3xf32>";

std::string ProgramText::add(Kind kind, std::string text) {
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 1, imageType);
  std::string name = "%v" + std::to_string(next++);
  body += "  " + name + " = " + text + "\n";
  values[kind].push_back(name);
  return name;
}

void ProgramText::image() {
  const std::string window = " strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1]";
  std::string a = any(Image), b = any(Image);
  auto bounded = [&](const std::string &text) {
    add(Image, "dl.tanh " + add(Image, text) + " : $");
  };
  switch (pick(18)) {
  case 0:
    return bounded("dl.convolution " + a + ", %w" + window + " groups = 1 : $, " + filterType);
  case 1:
    return bounded("dl.convolution_backward_data " + a + ", %w" + window + " groups = 1 : $, " +
                   filterType + " to $");
  case 2:
    return bounded("dl.add " + a + ", " + b + " : $");
  case 3:
    add(Image, "dl.maximum " + a + ", " + b + " : $");
    return;
  case 4:
  case 5:
    add(Image, "dl.broadcast " + any(Vector) + " dims = [1] : " + vectorType + " to $");
    return;
  case 6:
    add(Image, "dl.broadcast " + any(Plane) + " dims = [0, 2, 3] : " + planeType + " to $");
    return;
  case 7:
    add(Image, "dl.max_pool " + a + " kernel = [3, 3]" + window + " : $ -> $");
    return;
  case 8: {
    std::string flat = "%f" + std::to_string(next);
    body += "  " + flat + " = dl.reshape " + a + " : " + imageType + " to tensor<2x48xf32>\n";
    add(Image, "dl.reshape " + flat + " : tensor<2x48xf32> to $");
    return;
  }
  case 9:
    return bounded("dl.matmul " + a + ", " + b + " : $, $");
  case 10:
    add(Image, "dl.transpose " + a + " order = [0, 1, 3, 2] : $");
    return;
  case 11:
    add(Image, "dl.constant dense<0.25> : $");
    return;
  default:
    return bounded("dl.subtract " + a + ", " + b + " : $");
  }
}

void ProgramText::reduced() {
  switch (pick(4)) {
  case 0:
    add(Vector, "dl.reduce max " + any(Image) + " axes = [0, 2, 3] : $");
    return;
  case 1:
    add(Plane, "dl.reduce min " + any(Image) + " axes = [1] : $");
    return;
  case 2: { // keeps channels in front of pixels
    std::string kept = "%r" + std::to_string(next);
    body += "  " + kept + " = dl.reduce max " + any(Image) + " axes = [0] : " + imageType + "\n";
    add(Image, "dl.broadcast " + kept + " dims = [1, 2, 3] : tensor<3x4x4xf32> to $");
    return;
  }
  default:
    add(Vector, "dl.negate " + any(Vector) + " : " + vectorType);
  }
}

std::string ProgramText::draw(unsigned ops) {
  values[Image] = {"%x", "%s"};
  values[Vector] = {"%b"};
  values[Plane] = {"%p"};
  for (unsigned i = 0; i < ops; ++i)
    pick(3) ? image() : reduced();
  std::string outputs, types, attributes;
  for (unsigned i = 0; i < 3; ++i) {
    outputs += (i ? ", " : "") + any(i == 2 ? Vector : Image);
    types += (i ? ", " : "") + (i == 2 ? vectorType : imageType);
    attributes += std::string(i ? ", " : "") + (i == 2 ? vectorType : imageType) +
                  " {dl.name = \"out" + std::to_string(i) + "\", dl.kind = #program.value<" +
                  (i == 1 ? "gradient>, dl.of = @s}" : "result>}");
  }
  std::string init = " init(<constant, 0.0, 0.0>)\n";
  return "dl.variable @w : " + filterType + " role<parameter>" + init +
         "dl.variable @s : " + imageType + " role<parameter>" + init +
         "dl.entry @f(%x: " + imageType + ", %b: " + vectorType + ", %p: " + planeType + ") -> (" +
         attributes +
         ") attributes {kind = #program.entry<train>} {\n  %w = dl.read @w : " + filterType +
         "\n  %s = dl.read @s : " + imageType + "\n" + body + "  dl.assign @s, " + any(Image) +
         " : " + imageType + "\n  dl.return " + outputs + " : " + types + "\n}\n";
}

static std::vector<Tensor> run(dl::EntryOp entry) {
  Interpreter interpreter;
  interpreter.variables["w"] = interpreter::uniformTensor({3, 3, 3, 3}, "w");
  interpreter.variables["s"] = interpreter::uniformTensor({2, 3, 4, 4}, "s");
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    inputs.push_back(interpreter::uniformTensor(interpreter::shapeOf(type), std::to_string(i)));
  FailureOr<Interpreter::Results> results = interpreter.run(entry, inputs);
  EXPECT_TRUE(succeeded(results));
  if (failed(results))
    return {};
  results->outputs.push_back(interpreter.variables["s"]);
  return results->outputs;
}

static SmallVector<int64_t> orderOf(Type type) {
  return SmallVector<int64_t>(
      cast<program::LayoutAttr>(cast<RankedTensorType>(type).getEncoding()).getOrder());
}

/// Puts the kernel as it is outlined in place of `fused`, if it changes. True if it does.
static bool adoptInPlace(dl::FusedOp fused) {
  auto copy = cast<dl::FusedOp>(fused->clone());
  adoptStorageOrder(copy.getBody().front());
  OpBuilder builder(fused);
  Location loc = fused.getLoc();
  bool changed = copy.getBody().front().getArgumentTypes() != fused->getOperandTypes();
  SmallVector<Value> operands;
  for (auto [operand, argument] :
       llvm::zip_equal(fused.getOperands(), copy.getBody().front().getArguments()))
    operands.push_back(
        operand.getType() == argument.getType()
            ? operand
            : dl::TransposeOp::create(builder, loc, operand, orderOf(operand.getType()))
                  .getResult());
  auto stored = dl::FusedOp::create(
      builder, loc, copy.getBody().front().getTerminator()->getOperandTypes(), operands);
  stored.getBody().takeBody(copy.getBody());
  copy->destroy();
  for (auto [old, result] : llvm::zip_equal(fused.getResults(), stored.getResults())) {
    Value value = result;
    if (old.getType() != result.getType()) {
      SmallVector<int64_t> order = orderOf(old.getType()), back(order.size());
      for (auto [i, axis] : llvm::enumerate(order))
        back[axis] = i;
      value = dl::ConvertLayoutOp::create(builder, loc, old.getType(),
                                          dl::TransposeOp::create(builder, loc, result, back));
    }
    changed |= old.getType() != result.getType();
    old.replaceAllUsesWith(value);
  }
  fused.erase();
  return changed;
}

/// Counts tensors that lie with channels innermost, and kernels that were rewritten.
static void checkProgram(MLIRContext &context, unsigned seed, unsigned &laidOut,
                         unsigned &rewritten) {
  std::string text = ProgramText(seed).draw(6 + seed % 30);
  SCOPED_TRACE(text);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto entry = module->lookupSymbol<dl::EntryOp>("f");
  std::vector<Tensor> expected = run(entry);
  auto expectSame = [&](const char *when) {
    ASSERT_TRUE(succeeded(module->verify())) << when;
    std::vector<Tensor> found = run(entry);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i].values, expected[i].values) << "output " << i << ", " << when;
  };
  PassManager manager(&context);
  manager.addNestedPass<dl::EntryOp>(dl::createFuse());
  manager.addPass(dl::createChoose(std::make_shared<test::FakeCandidates>()));
  manager.addNestedPass<dl::EntryOp>(dl::createSchedule());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  expectSame("laid out");
  for (auto fused : llvm::make_early_inc_range(entry.getBlock().getOps<dl::FusedOp>())) {
    for (Type type : fused.getResultTypes())
      laidOut += program::LayoutAttr::isChannelsLast(cast<RankedTensorType>(type));
    rewritten += adoptInPlace(fused);
  }
  expectSame("in storage order");
}

TEST(LayoutsRandomTest, KeepResults) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  unsigned laidOut = 0, rewritten = 0;
  for (unsigned seed = 0; seed < 800 && !testing::Test::HasFailure(); ++seed)
    checkProgram(context, seed, laidOut, rewritten);
  EXPECT_GT(laidOut, 900u);
  EXPECT_GT(rewritten, 80u);
}
