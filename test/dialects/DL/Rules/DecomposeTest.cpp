//===- DecomposeTest.cpp - composites in primitives against their own formulas ----------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

/// Puts the composites' formulas in their place; how many there were.
static int decomposeAll(dl::EntryOp entry) {
  int decomposed = 0;
  for (Operation &op : llvm::make_early_inc_range(entry.getBlock()))
    if (auto composite = dyn_cast<dl::DecomposableOp>(op)) {
      OpBuilder builder(&op);
      op.replaceAllUsesWith(composite.decompose(builder));
      op.erase();
      ++decomposed;
    }
  return decomposed;
}

/// Runs the entry with its composites, then with their decompositions: both must agree to 1e-12.
static std::vector<Tensor> runBothWays(const std::string &text, ArrayRef<Tensor> inputs) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();
  FailureOr<Interpreter::Results> expected = Interpreter().run(entry, inputs);
  EXPECT_GT(decomposeAll(entry), 0);
  EXPECT_TRUE(succeeded(verify(*module)));
  FailureOr<Interpreter::Results> found = Interpreter().run(entry, inputs);
  EXPECT_TRUE(succeeded(expected) && succeeded(found));
  for (auto [a, b] : llvm::zip_equal(found->outputs, expected->outputs))
    for (auto [x, y] : llvm::zip_equal(a.values, b.values))
      EXPECT_LE(std::fabs(x - y), 1e-12 * std::max(1.0, std::fabs(y)));
  return expected->outputs;
}

static const char *const lossText = R"(
  dl.entry @f(%x: tensor<2x5x3xf64>, %label: tensor<2x3xi32>) -> tensor<2x3xf64>
      attributes {kind = #program.entry<infer>} {
    %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<2x5x3xf64>, tensor<2x3xi32>
    dl.return %l : tensor<2x3xf64>
  })";

// Labels 5 and -1 are no classes: their loss is 0.
TEST(Decompose, SoftmaxCrossEntropy) {
  Tensor x = interpreter::uniformTensor({2, 5, 3}, "x", 4);
  Tensor loss = runBothWays(lossText, {x, {{2, 3}, {0, 4, 5, 2, -1, 1}}})[0];
  EXPECT_EQ(loss.values[2], 0);
  EXPECT_EQ(loss.values[4], 0);
  EXPECT_GT(loss.values[0], 0);
}

// exp of these would overflow or vanish.
TEST(Decompose, SoftmaxCrossEntropyOfLargeLogits) {
  Tensor x = interpreter::uniformTensor({2, 5, 3}, "x", 1000, 2000);
  Tensor loss = runBothWays(lossText, {x, {{2, 3}, {0, 4, 3, 2, 1, 0}}})[0];
  for (double value : loss.values)
    EXPECT_TRUE(std::isfinite(value));
}

TEST(Decompose, SoftmaxCrossEntropyBackward) {
  Tensor gradient = runBothWays(R"(
    dl.entry @f(%dloss: tensor<4xf64>, %x: tensor<4x3xf64>, %label: tensor<4xi64>) ->
        tensor<4x3xf64>
        attributes {kind = #program.entry<infer>} {
      %d = dl.softmax_cross_entropy_backward %dloss, %x, %label axis = 1 : tensor<4xf64>,
          tensor<4x3xf64>, tensor<4xi64>
      dl.return %d : tensor<4x3xf64>
    })",
                                {interpreter::uniformTensor({4}, "dloss"),
                                 interpreter::uniformTensor({4, 3}, "x", 300),
                                 {{4}, {0, 3, 2, 1}}})[0];
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(gradient.values[3 + c], 0) << "sample 1 has no class";
}

// The first of equal logits counts; a label that is no class is never right.
TEST(Decompose, Accuracy) {
  Tensor correct = runBothWays(
      R"(
    dl.entry @f(%x: tensor<5x3xf64>, %label: tensor<5xi32>) -> tensor<5xf64>
        attributes {kind = #program.entry<infer>} {
      %a = dl.accuracy %x, %label axis = 1 : tensor<5x3xf64>, tensor<5xi32>
      dl.return %a : tensor<5xf64>
    })",
      {{{5, 3}, {1, 2, 3, 2, 2, 1, 2, 2, 1, 3, 2, 1, 1, 1, 1}}, {{5}, {2, 0, 1, 7, 0}}})[0];
  EXPECT_EQ(correct.values, (std::vector<double>{1, 1, 0, 0, 1}));
}

// Masks of both kinds, dropout, causal, a row that sees nothing.
TEST(Decompose, Attention) {
  const std::string types = "tensor<2x1x3x4xf64>, tensor<2x1x5x4xf64>, tensor<2x1x5x6xf64>";
  const std::string signature =
      "dl.entry @f(%q: tensor<2x1x3x4xf64>, %k: tensor<2x1x5x4xf64>, %v: tensor<2x1x5x6xf64>, "
      "%add: tensor<2x1x3x5xf64>, %hide: tensor<2x1x3x5xi1>, %l: tensor<2x1x3xf64>, "
      "%do: tensor<2x1x3x6xf64>) -> ";
  std::vector<double> seen(30, 1);
  std::fill(seen.begin(), seen.begin() + 5, 0);
  std::vector<Tensor> inputs = {interpreter::uniformTensor({2, 1, 3, 4}, "q", 20),
                                interpreter::uniformTensor({2, 1, 5, 4}, "k", 2),
                                interpreter::uniformTensor({2, 1, 5, 6}, "v"),
                                interpreter::uniformTensor({2, 1, 3, 5}, "m"),
                                {{2, 1, 3, 5}, seen},
                                interpreter::uniformTensor({2, 1, 3}, "l", 1, 40),
                                interpreter::uniformTensor({2, 1, 3, 6}, "do")};
  for (const char *options :
       {" scale = 0.5", " mask(%hide : tensor<2x1x3x5xi1>) scale = 0.5 causal",
        " mask(%add : tensor<2x1x3x5xf64>) kept(%hide : tensor<2x1x3x5xi1>) scale = 0.5 rate = "
        "0.25"}) {
    Tensor o = runBothWays(signature +
                               "(tensor<2x1x3x6xf64>, tensor<2x1x3xf64>) attributes {kind = "
                               "#program.entry<infer>} {\n%o, %lse = dl.attention %q, %k, %v" +
                               options + " : " + types +
                               "\ndl.return %o, %lse : tensor<2x1x3x6xf64>, tensor<2x1x3xf64>\n}",
                           inputs)[0];
    if (std::string(options).find("hide") != std::string::npos)
      for (int e = 0; e < 6; ++e)
        EXPECT_EQ(o.values[e], 0) << "row 0 sees nothing";
    runBothWays(signature + "(" + types +
                    ") attributes {kind = #program.entry<infer>} {\n%dq, %dk, %dv = "
                    "dl.attention_backward %do, %q, %k, %v, %l, %l" +
                    options + " : tensor<2x1x3x6xf64>, " + types +
                    ", tensor<2x1x3xf64>\ndl.return %dq, %dk, %dv : " + types + "\n}",
                inputs);
  }
}

// A label that is no class has its share of all classes only.
TEST(Decompose, OverClasses) {
  Tensor x = interpreter::uniformTensor({2, 5, 3}, "x", 4),
         target = interpreter::uniformTensor({2, 5, 3}, "t", 0.5, 0.5);
  Tensor label = {{2, 3}, {0, 4, 5, 2, -1, 1}};
  const std::string head = "dl.entry @f(%x: tensor<2x5x3xf64>, ",
                    middle = ") -> tensor<2x3xf64> attributes {kind = #program.entry<infer>} {\n",
                    tail = "\ndl.return %l : tensor<2x3xf64>\n}",
                    labels = " : tensor<2x5x3xf64>, tensor<2x3xi32>";
  for (const char *op : {"smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.1",
                         "top_accuracy %x, %label axis = 1 k = 2"})
    runBothWays(head + "%label: tensor<2x3xi32>" + middle + "%l = dl." + op + labels + tail,
                {x, label});
  runBothWays(head + "%t: tensor<2x5x3xf64>" + middle +
                  "%l = dl.probability_cross_entropy %x, %t axis = 1 : tensor<2x5x3xf64>" + tail,
              {x, target});
}

//===------------------------------------------------------------------------------------------===//
// Norms, activations and losses
//===------------------------------------------------------------------------------------------===//

/// One op on x, scale, bias, ...: `body` gives `%y`, of x's type unless `result` says otherwise.
static std::vector<Tensor> runOp(const std::string &signature, const std::string &body,
                                 const std::string &type, ArrayRef<Tensor> inputs) {
  return runBothWays("dl.entry @f(" + signature + ") -> " + type +
                         " attributes {kind = #program.entry<infer>} {\n" + body +
                         "\ndl.return %y : " + type + "\n}",
                     inputs);
}

static const char *const imageSignature =
    "%x: tensor<3x6x2x4xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>";
static std::vector<Tensor> imageInputs() {
  return {interpreter::uniformTensor({3, 6, 2, 4}, "x", 2, 5), interpreter::uniformTensor({6}, "s"),
          interpreter::uniformTensor({6}, "b")};
}
static const char *const affine = " scale(%s : tensor<6xf64>) bias(%b : tensor<6xf64>) ";
static const char *const image = "tensor<3x6x2x4xf64>";

// With the statistics as results; scale and bias apart.
TEST(Decompose, BatchNorm) {
  for (std::string weights :
       {affine, " scale(%s : tensor<6xf64>) ", " bias(%b : tensor<6xf64>) ", " "})
    runBothWays(std::string("dl.entry @f(") + imageSignature + ") -> (" + image +
                    ", tensor<6xf64>, tensor<6xf64>) attributes {kind = #program.entry<infer>} {\n"
                    "%y, %m, %v = dl.batch_norm %x" +
                    weights + "epsilon = 1.0e-03 : " + image + "\ndl.return %y, %m, %v : " + image +
                    ", tensor<6xf64>, tensor<6xf64>\n}",
                imageInputs());
}

TEST(Decompose, BatchNormInference) {
  std::vector<Tensor> inputs = imageInputs();
  inputs.push_back(interpreter::uniformTensor({6}, "mean", 1, 5));
  inputs.push_back(interpreter::uniformTensor({6}, "variance", 1, 2));
  runOp(std::string(imageSignature) + ", %m: tensor<6xf64>, %v: tensor<6xf64>",
        std::string("%y = dl.batch_norm_inference %x, %m, %v") + affine +
            "epsilon = 1.0e-03 : " + image,
        image, inputs);
}

TEST(Decompose, BatchNormBackward) {
  for (std::string weights : {" scale(%s : tensor<6xf64>) ", " "}) {
    std::vector<Tensor> inputs = {imageInputs()[0], imageInputs()[1],
                                  interpreter::uniformTensor({3, 6, 2, 4}, "dy")};
    // The moments are those of x: other ones are no derivative of a batch norm.
    runBothWays(std::string("dl.entry @f(%x: ") + image + ", %s: tensor<6xf64>, %dy: " + image +
                    ") -> (" + image +
                    ", tensor<6xf64>, tensor<6xf64>) attributes {kind = #program.entry<infer>} {\n"
                    "%y, %mean, %variance = dl.batch_norm %x epsilon = 1.0e-03 : " +
                    image + "\n%dx, %ds, %db = dl.batch_norm_backward %dy, %x, %mean, %variance" +
                    weights + "epsilon = 1.0e-03 : " + image +
                    "\ndl.return %dx, %ds, %db : " + image + ", tensor<6xf64>, tensor<6xf64>\n}",
                inputs);
  }
}

/// Of an entry that computes what two ranks compute, the first one's ops first: each reduction of
/// one rank and the other's become one sum.
static void joinRanks(Block &block) {
  SmallVector<dl::AllReduceOp> all(block.getOps<dl::AllReduceOp>());
  ASSERT_EQ(all.size(), 6u); // mean, m2, and both sums of the backward pass, of each rank
  for (size_t i = 0; i < all.size() / 2; ++i) {
    dl::AllReduceOp first = all[i], second = all[i + all.size() / 2];
    EXPECT_EQ(first.getChannel(), 1);
    OpBuilder builder(second);
    for (unsigned tensor = 0; tensor < first.getNumResults(); ++tensor) {
      Value sum = dl::AddOp::create(builder, second.getLoc(), first.getXs()[tensor],
                                    second.getXs()[tensor]);
      first.getYs()[tensor].replaceAllUsesWith(sum);
      second.getYs()[tensor].replaceAllUsesWith(sum);
    }
    first.erase();
    second.erase();
  }
  sortTopologically(&block);
}

static FailureOr<Interpreter::Results> runText(const std::string &text, ArrayRef<Tensor> inputs,
                                               bool ranks) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();
  if (ranks) {
    decomposeAll(entry);
    joinRanks(entry.getBlock());
    EXPECT_TRUE(succeeded(verify(*module)));
  }
  return Interpreter().run(entry, inputs);
}

// Two ranks with half of a batch each, whose means are far apart: moments and gradients are those
// of the whole batch, and what the ranks add up as gradients of scale and bias are parts of its.
TEST(Decompose, BatchNormOverRanks) {
  const std::string half = "tensor<2x6x3xf64>", whole = "tensor<4x6x3xf64>", each = "tensor<6xf64>";
  auto norm = [&](const std::string &rank, const std::string &type, const std::string &ranks) {
    return "%y" + rank + ", %m" + rank + ", %v" + rank + " = dl.batch_norm %x" + rank +
           " scale(%s : " + each + ") " + ranks + " epsilon = 1.0e-03 : " + type + "\n%dx" + rank +
           ", %ds" + rank + ", %db" + rank + " = dl.batch_norm_backward %dy" + rank + ", %x" +
           rank + ", %m" + rank + ", %v" + rank + " scale(%s : " + each + ") " + ranks +
           " epsilon = 1.0e-03 : " + type + "\n";
  };
  const std::string scale = "ranks(%r : tensor<f32>)";
  std::vector<Tensor> x{interpreter::uniformTensor({2, 6, 3}, "x0", 2, 5),
                        interpreter::uniformTensor({2, 6, 3}, "x1", 3, 200)};
  std::vector<Tensor> dy{interpreter::uniformTensor({2, 6, 3}, "dy0"),
                         interpreter::uniformTensor({2, 6, 3}, "dy1")};
  Tensor s = interpreter::uniformTensor({6}, "s");
  auto found = runText(
      "module attributes {program.data_parallel} {\ndl.entry @f(%x0: " + half + ", %x1: " + half +
          ", %dy0: " + half + ", %dy1: " + half + ", %s: " + each + ") -> (" + half + ", " + half +
          ", " + half + ", " + half + ", " + each + ", " + each + ", " + each + ", " + each +
          ") attributes {kind = #program.entry<train>} {\n"
          "%r = dl.scalar \"ranks.scale\", 0.5 : tensor<f32>\n" +
          norm("0", half, scale) + norm("1", half, scale) + "%ds = dl.add %ds0, %ds1 : " + each +
          "\n%db = dl.add %db0, %db1 : " + each +
          "\ndl.return %y0, %y1, %dx0, %dx1, %m0, %v1, %ds, %db : " + half + ", " + half + ", " +
          half + ", " + half + ", " + each + ", " + each + ", " + each + ", " + each + "\n}\n}",
      {x[0], x[1], dy[0], dy[1], s}, /*ranks=*/true);
  auto joined = [](std::vector<Tensor> parts) {
    Tensor all{{4, 6, 3}, parts[0].values};
    all.values.insert(all.values.end(), parts[1].values.begin(), parts[1].values.end());
    return all;
  };
  auto expected =
      runText("dl.entry @f(%x: " + whole + ", %dy: " + whole + ", %s: " + each + ") -> (" + whole +
                  ", " + whole + ", " + each + ", " + each + ", " + each + ", " + each +
                  ") attributes {kind = #program.entry<train>} {\n" + norm("", whole, "") +
                  "dl.return %y, %dx, %m, %v, %ds, %db : " + whole + ", " + whole + ", " + each +
                  ", " + each + ", " + each + ", " + each + "\n}",
              {joined(x), joined(dy), s}, /*ranks=*/false);
  ASSERT_TRUE(succeeded(found) && succeeded(expected));
  const std::vector<Tensor> &parts = found->outputs;
  std::vector<Tensor> outputs{joined({parts[0], parts[1]}), joined({parts[2], parts[3]})};
  outputs.insert(outputs.end(), parts.begin() + 4, parts.end());
  for (auto [a, b] : llvm::zip_equal(outputs, expected->outputs))
    for (auto [p, q] : llvm::zip_equal(a.values, b.values))
      // Means of 200 lose 3 of 16 digits.
      EXPECT_LE(std::fabs(p - q), 1e-10 * std::max(1.0, std::fabs(q)));
}

// Where no ranks train together, `ranks` asks for nothing.
TEST(Decompose, BatchNormOverRanksAlone) {
  runOp(std::string(imageSignature) + ", %r: tensor<f32>",
        std::string("%y, %m, %v = dl.batch_norm %x") + affine +
            "ranks(%r : tensor<f32>) epsilon = 1.0e-03 : " + image,
        image, [&] {
          std::vector<Tensor> inputs = imageInputs();
          inputs.push_back({{}, {1}});
          return inputs;
        }());
}

TEST(Decompose, GroupNorm) {
  for (const char *groups : {"1", "3", "6"})
    runOp(imageSignature,
          std::string("%y = dl.group_norm %x") + affine + "groups = " + groups +
              " epsilon = 1.0e-03 : " + image,
          image, imageInputs());
}

// Over axes that are no neighbours.
TEST(Decompose, LayerAndRmsNorm) {
  std::vector<Tensor> inputs = {interpreter::uniformTensor({3, 6, 2, 4}, "x", 2, 5),
                                interpreter::uniformTensor({6, 4}, "s"),
                                interpreter::uniformTensor({6, 4}, "b")};
  std::string signature = "%x: tensor<3x6x2x4xf64>, %s: tensor<6x4xf64>, %b: tensor<6x4xf64>";
  runOp(signature,
        std::string("%y = dl.layer_norm %x scale(%s : tensor<6x4xf64>) bias(%b : tensor<6x4xf64>) "
                    "axes = [1, 3] epsilon = 1.0e-03 : ") +
            image,
        image, inputs);
  runOp(signature,
        std::string(
            "%y = dl.rms_norm %x scale(%s : tensor<6x4xf64>) axes = [1, 3] epsilon = 1.0e-03 : ") +
            image,
        image, inputs);
}

TEST(Decompose, LocalResponseNorm) {
  for (const char *settings :
       {"size = 3 alpha = 0.5 beta = 0.75 k = 2.0", "size = 4 alpha = 0.5 beta = 2.0 k = 1.0",
        "size = 12 alpha = 1.0 beta = 0.5 k = 1.0", "size = 13 alpha = 1.0 beta = 0.5 k = 1.0",
        "size = 9000000000000000000 alpha = 1.0e+19 beta = 0.5 k = 1.0",
        "size = 1 alpha = 1.0 beta = -1.0 k = 1.0"})
    runOp("%x: tensor<3x6x2x4xf64>",
          std::string("%y = dl.local_response_norm %x ") + settings + " : " + image, image,
          {imageInputs()[0]});
}

// Of numbers whose exponential overflows.
TEST(Decompose, Softmax) {
  for (const char *op : {"softmax", "log_softmax"})
    for (const char *axis : {"0", "1", "3"})
      runOp("%x: tensor<3x6x2x4xf64>",
            std::string("%y = dl.") + op + " %x axis = " + axis + " : " + image, image,
            {interpreter::uniformTensor({3, 6, 2, 4}, "x", 500, 1000)});
}

TEST(Decompose, ElementByElement) {
  Tensor a = interpreter::uniformTensor({6, 14}, "a", 3),
         target = interpreter::uniformTensor({6, 14}, "t");
  for (const char *op :
       {"sigmoid_cross_entropy %a, %t", "huber %a, %t delta = 0.5", "hinge %a, %t margin = 0.75",
        "kl_divergence %a, %t", "gelu %a", "gelu %a exact", "stop_gradient %a",
        "binary_accuracy %a, %t threshold = 0.25"})
    runOp("%a: tensor<6x14xf64>, %t: tensor<6x14xf64>",
          std::string("%y = dl.") + op + " : tensor<6x14xf64>", "tensor<6x14xf64>", {a, target});
}

//===------------------------------------------------------------------------------------------===//
// Recurrent layers
//===------------------------------------------------------------------------------------------===//

static Tensor drawn(std::string_view name, interpreter::Shape shape) {
  return interpreter::uniformTensor(std::move(shape), name);
}

/// Runs a recurrent layer of 3 samples forwards and against time, where each step of each sample
/// counts, and with a mask of samples of all steps, two and none.
static void runRecurrent(const std::string &operands, const std::string &types,
                         const std::string &before, const std::string &behind, int64_t steps,
                         std::vector<Tensor> inputs) {
  for (std::string direction : {"", " reverse"})
    for (bool isMasked : {false, true}) {
      std::vector<Tensor> all = inputs;
      if (isMasked) {
        all.push_back(Tensor::filled({steps, 3}, 0));
        for (int64_t t = 0; t < steps; ++t) {
          all.back().at({t, 0}) = 1;
          all.back().at({t, 1}) = t < 2;
        }
      }
      std::string mask = "%m : tensor<" + std::to_string(steps) + "x3xi1>";
      runBothWays("dl.entry @f(" + operands + (isMasked ? ", " + mask : "") + ") -> (" + types +
                      ") attributes {kind = #program.entry<infer>} {\n" + before +
                      (isMasked ? " mask(" + mask + ")" : "") + direction + behind + " : " + types +
                      "\n}",
                  all);
    }
}

// Of five steps and of one; bidirectional layers have both directions.
TEST(Decompose, Lstm) {
  for (int64_t steps : {5, 1}) {
    std::string x = "tensor<" + std::to_string(steps) + "x3x8xf64>",
                hs = "tensor<" + std::to_string(steps + 1) + "x3x2xf64>", state = "tensor<3x2xf64>",
                w = "tensor<8x2xf64>";
    Tensor gates = drawn("x", {steps, 3, 8}), states = drawn("hs", {steps + 1, 3, 2}),
           cells = drawn("cs", {steps + 1, 3, 2}), weight = drawn("w", {8, 2});
    runRecurrent("%x: " + x + ", %h: " + state + ", %c: " + state + ", %w: " + w,
                 hs + ", " + hs + ", " + x, "%hs, %cs, %gates = dl.lstm %x, %h, %c, %w",
                 " : " + x + "\ndl.return %hs, %cs, %gates", steps,
                 {gates, drawn("h", {3, 2}), drawn("c", {3, 2}), weight});
    runRecurrent("%dhs: " + hs + ", %dcs: " + hs + ", %dg: " + x + ", %g: " + x + ", %cs: " + hs +
                     ", %w: " + w,
                 x + ", " + state + ", " + state,
                 "%dx, %dh, %dc = dl.lstm_backward %dhs, %dcs, %dg, %g, %cs, %w",
                 " : " + x + "\ndl.return %dx, %dh, %dc", steps,
                 {states, cells, drawn("dg", {steps, 3, 8}), gates, cells, weight});
  }
}

TEST(Decompose, Gru) {
  for (int64_t steps : {5, 1}) {
    std::string x = "tensor<" + std::to_string(steps) + "x3x6xf64>",
                hs = "tensor<" + std::to_string(steps + 1) + "x3x2xf64>", state = "tensor<3x2xf64>",
                w = "tensor<6x2xf64>";
    Tensor gates = drawn("x", {steps, 3, 6}), states = drawn("hs", {steps + 1, 3, 2}),
           weight = drawn("w", {6, 2});
    for (std::string bias : {"", " bias(%b : tensor<6xf64>)"})
      runRecurrent("%x: " + x + ", %h: " + state + ", %w: " + w + ", %b: tensor<6xf64>",
                   hs + ", " + x, "%hs, %p = dl.gru %x, %h, %w" + bias,
                   " : " + x + "\ndl.return %hs, %p", steps,
                   {gates, drawn("h", {3, 2}), weight, drawn("b", {6})});
    runRecurrent(
        "%dhs: " + hs + ", %dp: " + x + ", %x: " + x + ", %p: " + x + ", %hs: " + hs + ", %w: " + w,
        x + ", " + x + ", " + state, "%dx, %d, %dh = dl.gru_backward %dhs, %dp, %x, %p, %hs, %w",
        " : " + x + "\ndl.return %dx, %d, %dh", steps,
        {states, drawn("dp", {steps, 3, 6}), gates, drawn("p", {steps, 3, 6}), states, weight});
  }
}
