//===- LayoutsRandomTest.cpp - layouts on random graphs of images -----------------------------===//
//
// Graphs that nobody would draw, of convolutions, pooling, products, transpositions, reductions and
// element-wise ops on images, with variables that are read and assigned. Fused and laid out they
// verify, and give what they gave. So they do when every kernel that knows no axes is rewritten to
// the order of memory, with transpositions around it. Once with channels innermost, and once with
// channels in blocks of two, where convolutions do not convert what they read and write.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Conversion/StorageOrder.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "test/passes/DL/FakeCandidates.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

/// Draws a program as text. Kinds of values: image [2, channels, 4, 4], vector [channels], plane
/// [2, 4, 4] of pixels.
class ProgramText {
public:
  ProgramText(unsigned seed, unsigned channels)
      : random(seed), c(std::to_string(channels)), imageType("tensor<2x" + c + "x4x4xf32>"),
        vectorType("tensor<" + c + "xf32>"), filterType("tensor<" + c + "x" + c + "x3x3xf32>"),
        flatType("tensor<2x" + std::to_string(16 * channels) + "xf32>") {}
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
  const std::string c, imageType, vectorType, filterType, flatType, planeType = "tensor<2x4x4xf32>";
  std::string body;
  unsigned next = 0;
  std::vector<std::string> values[3];
};

} // namespace

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
    body += "  " + flat + " = dl.reshape " + a + " : " + imageType + " to " + flatType + "\n";
    add(Image, "dl.reshape " + flat + " : " + flatType + " to $");
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
    add(Image, "dl.broadcast " + kept + " dims = [1, 2, 3] : tensor<" + c + "x4x4xf32> to $");
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

static std::vector<Tensor> run(dl::EntryOp entry, unsigned channels) {
  Interpreter interpreter;
  interpreter.variables["w"] = interpreter::uniformTensor({channels, channels, 3, 3}, "w");
  interpreter.variables["s"] = interpreter::uniformTensor({2, channels, 4, 4}, "s");
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

/// The order of an image's axes in memory, the inner part of a blocked one behind the outer: empty
/// for row-major ones.
static SmallVector<int64_t> orderOf(Type type) {
  auto layout = cast_or_null<program::LayoutAttr>(cast<RankedTensorType>(type).getEncoding());
  if (!layout)
    return {};
  SmallVector<int64_t> order(layout.getOrder());
  if (layout.getBlocks().empty())
    return order;
  for (int64_t &axis : order)
    axis += axis > layout.getBlocks()[0] ? 1 : 0;
  order.push_back(layout.getBlocks()[0] + 1);
  return order;
}

static Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return dl::ReshapeOp::create(builder, loc,
                               RankedTensorType::get(shape, getElementTypeOrSelf(value)), value);
}

/// `value` as a kernel sees it that takes a tensor of `type` for it: if that has no layout, in the
/// order of memory.
static Value inMemory(OpBuilder &builder, Location loc, Value value, RankedTensorType type) {
  if (type.getEncoding())
    return dl::ConvertLayoutOp::create(builder, loc, type,
                                       reshaped(builder, loc, value, type.getShape()));
  SmallVector<int64_t> order = orderOf(value.getType()), split(type.getShape());
  for (auto [place, axis] : llvm::enumerate(order))
    split[axis] = type.getDimSize(place);
  Value logical = reshaped(builder, loc, value, split);
  return order.empty() ? logical : dl::TransposeOp::create(builder, loc, logical, order);
}

/// A value of `type` from what such a kernel gives.
static Value fromMemory(OpBuilder &builder, Location loc, Value value, RankedTensorType type) {
  SmallVector<int64_t> order = orderOf(type), back(order.size());
  for (auto [place, axis] : llvm::enumerate(order))
    back[axis] = place;
  if (!order.empty() && !cast<RankedTensorType>(value.getType()).getEncoding())
    value = dl::TransposeOp::create(builder, loc, value, back);
  value = reshaped(builder, loc, value, type.getShape());
  return type.getEncoding() ? dl::ConvertLayoutOp::create(builder, loc, type, value).getResult()
                            : value;
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
            : inMemory(builder, loc, operand, cast<RankedTensorType>(argument.getType())));
  auto stored = dl::FusedOp::create(
      builder, loc, copy.getBody().front().getTerminator()->getOperandTypes(), operands);
  stored.getBody().takeBody(copy.getBody());
  copy->destroy();
  for (auto [old, result] : llvm::zip_equal(fused.getResults(), stored.getResults())) {
    Value value = result;
    if (old.getType() != result.getType())
      value = fromMemory(builder, loc, result, cast<RankedTensorType>(old.getType()));
    changed |= old.getType() != result.getType();
    old.replaceAllUsesWith(value);
  }
  fused.erase();
  return changed;
}

namespace {
struct Counts {
  unsigned laidOut = 0, rewritten = 0, converted = 0;
};
} // namespace

/// Counts tensors that have a layout, kernels that were rewritten, and those that only convert.
static void checkProgram(MLIRContext &context, unsigned seed, unsigned channels,
                         std::shared_ptr<dl::CandidateSource> source, Counts &counts) {
  std::string text = ProgramText(seed, channels).draw(6 + seed % 30);
  SCOPED_TRACE(text);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto entry = module->lookupSymbol<dl::EntryOp>("f");
  std::vector<Tensor> expected = run(entry, channels);
  auto expectSame = [&](const char *when) {
    ASSERT_TRUE(succeeded(module->verify())) << when;
    std::vector<Tensor> found = run(entry, channels);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i].values, expected[i].values) << "output " << i << ", " << when;
  };
  PassManager manager(&context);
  manager.addNestedPass<dl::EntryOp>(dl::createFuse());
  manager.addPass(dl::createChoose(source));
  manager.addNestedPass<dl::EntryOp>(dl::createSchedule());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  expectSame("laid out");
  for (auto fused : llvm::make_early_inc_range(entry.getBlock().getOps<dl::FusedOp>())) {
    for (Type type : fused.getResultTypes())
      counts.laidOut += cast<RankedTensorType>(type).getEncoding() ? 1 : 0;
    auto onlyConverts = [](Operation &op) { return isa<dl::ConvertLayoutOp, dl::YieldOp>(op); };
    counts.converted += llvm::all_of(fused.getBody().front(), onlyConverts);
    counts.rewritten += adoptInPlace(fused);
  }
  expectSame("in storage order");
}

static Counts checkPrograms(unsigned channels, std::shared_ptr<dl::CandidateSource> source) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  Counts counts;
  for (unsigned seed = 0; seed < 800 && !testing::Test::HasFailure(); ++seed)
    checkProgram(context, seed, channels, source, counts);
  return counts;
}

TEST(LayoutsRandomTest, KeepResults) {
  Counts counts = checkPrograms(3, std::make_shared<test::FakeCandidates>());
  EXPECT_GT(counts.laidOut, 900u);
  EXPECT_GT(counts.rewritten, 80u);
}

TEST(LayoutsRandomTest, KeepResultsInBlocks) {
  Counts counts = checkPrograms(4, std::make_shared<test::FakeCandidates>(/*blocks=*/true));
  EXPECT_GT(counts.laidOut, 900u);
  EXPECT_GT(counts.rewritten, 80u);
  EXPECT_GT(counts.converted, 80u);
}
