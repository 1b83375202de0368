// What a model computes, in one number: by which checkpoints know it again.
#include "dialects/Program/ProgramOps.h"
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

namespace {

/// The number as text; "none" where a module has none.
std::string operationsOf(llvm::StringRef text, FrontendOptions options = {}) {
  Compiled compiled(text, options);
  EXPECT_EQ(compiled.diagnostics(), "") << text.str();
  if (!compiled.result)
    return "no module";
  auto settings = compiled.result->getOps<dlc::program::SettingsOp>();
  return settings.empty() ? "none" : std::to_string((*settings.begin()).getOperations().value());
}

const std::string net = "model Net(x: f32[N, T, 6]) -> f32[N, 3] {\n"
                        "  y = mean(linear(x, 4), axes=1) |> tanh |> dropout(0.5)\n"
                        "  return linear(y, 3)\n"
                        "}\n";
const std::string train = "train Net {\n"
                          "  label: i32[N]\n"
                          "  loss = softmax_cross_entropy(output, label)\n"
                          "  optimizer = sgd(learning_rate=0.1)\n"
                          "  batch = 4\n"
                          "  T = 5\n"
                          "}\n";
const std::string infer = "infer Net { batch = 1 T = 5 }\n";

std::string with(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Whatever is made of a model, it is the same one.
TEST(Operations, AreThoseOfTheModelAlone) {
  const std::string expected = operationsOf(net + train);
  EXPECT_NE(expected, "none");
  for (const std::string &text : {
           net + infer,
           net + train + "infer Net { batch = [1, 16] }\n",
           net + train + "infer Net { batch = 2  T = 1 }\n",
           net + train +
               "infer Net as classify -> (p: f32[N, 3], c: i32[N]) {\n"
               "  return softmax(output), argmax(output, axis=1)\n}\n",
           net + train +
               "infer Net as twice { a: f32[N, T, 6]  b: f32[N, T, 6]  return Net(a) + Net(b) }\n",
           net + with(train, "sgd(", "adam("),
           net + with(train, "batch = 4", "batch = 8\n  ema = 0.9\n  accumulate = 2"),
           net + with(train, "softmax_cross_entropy(output, label)",
                      "softmax_cross_entropy(output, label) + mean(square(output))"),
           net + with(train, "T = 5", "T = 7"),
           with(net, "linear(x, 4)", "linear(x, 4, lr_mult=2)") + train,
           "block Other(x) { return relu(x) }\n" + net + train,
           net + "infer Net as step { batch = 1  T = 1 }\n",
           net + infer + "infer Net as again { batch = 3  T = 5 }\n",
       })
    EXPECT_EQ(operationsOf(text), expected) << text;
  FrontendOptions batches;
  batches.inferBatches = {1, 8};
  EXPECT_EQ(operationsOf(net + train, batches), expected);
}

// Other operations on tensors of the same names and shapes.
TEST(Operations, DifferWhereOthersAreComputed) {
  const std::string expected = operationsOf(net + infer);
  for (const std::string &other : {with(net, "tanh", "sigmoid"), with(net, "mean(", "sum("),
                                   with(net, "linear(y, 3)", "linear(y, 3) * 2"),
                                   with(net, "|> tanh", "|> tanh |> layer_norm(affine=false)")}) {
    EXPECT_NE(operationsOf(other + infer), expected) << other;
    EXPECT_NE(operationsOf(other + train), expected) << other;
    EXPECT_EQ(operationsOf(other + infer), operationsOf(other + train)) << other;
  }
  // Dropout of inference does nothing.
  EXPECT_EQ(operationsOf(with(net, "0.5", "0.3") + infer), expected);
}

// A loop is as long in every file; a weight as long as an axis is another one where that is.
TEST(Operations, LeaveOutSizes) {
  const std::string loop = "model M(x: f32[N, T, 2]) -> f32[N, 2] {\n"
                           "  layer f = linear(_, 2)\n"
                           "  y = x[:, 0]\n"
                           "  for t in range(1, T) {\n    y = tanh(f(y)) + x[:, t]\n  }\n"
                           "  return y\n}\n";
  EXPECT_EQ(operationsOf(loop + "infer M { T = 3 }\n"),
            operationsOf(loop + "infer M { T = 30 }\n"));
  EXPECT_NE(operationsOf(loop + "infer M { T = 3 }\n"),
            operationsOf(with(loop, "tanh", "relu") + "infer M { T = 3 }\n"));
  const std::string table = "model M(x: f32[N, T, 2]) -> f32[N, T, 2] {\n"
                            "  parameter p: f32[T, 2] = normal(0, 1)\n"
                            "  return x + p\n}\n";
  EXPECT_NE(operationsOf(table + "infer M { T = 3 }\n"), "none");
  // Three windows in a row need more than the common size.
  const std::string pools = "model M(x: f32[N, 1, H, H]) -> f32[N] {\n"
                            "  y = max_pool(x, 3) |> max_pool(3) |> max_pool(3)\n"
                            "  return mean(y, axes=(1, 2, 3))\n}\n";
  EXPECT_EQ(operationsOf(pools + "infer M { H = 27 }\n"),
            operationsOf(pools + "infer M as other { batch = 2  H = 27 }\n"));
  EXPECT_NE(operationsOf(pools + "infer M { H = 27 }\n"), "none");
}

// Several models are one thing to train; a state is one for each entry, and has no part in it.
TEST(Operations, OfSeveralModelsAndOfStates) {
  const std::string models =
      "model A(x: f32[N, 2]) -> f32[N, 2] { return linear(x, 2) }\n"
      "model B(x: f32[N, 2]) -> f32[N] { return mean(linear(x, 2), axes=1) }\n";
  const std::string both = "train A, B { x: f32[N, 2] loss = mean(B(A(x)))  optimizer = "
                           "sgd(learning_rate=0.1)  batch = 4 }\n";
  const std::string expected = operationsOf(models + both);
  EXPECT_EQ(operationsOf(models + both + "infer A { batch = 1 }\n"), expected);
  EXPECT_EQ(operationsOf(models + "infer B, A { x: f32[N, 2]  return B(A(x)) }\n"), expected);
  EXPECT_NE(operationsOf(models + "infer A { batch = 1 }\n"), expected);

  const std::string memory = "model M(x: f32[N, 2]) -> f32[N, 2] {\n"
                             "  state h: f32[N, 2]\n"
                             "  h = h + linear(x, 2)\n"
                             "  return h\n}\n";
  EXPECT_EQ(operationsOf(memory + "train M { loss = mean(output) optimizer = "
                                  "sgd(learning_rate=0.1) batch = 4 }\n"),
            operationsOf(memory + "infer M as step { batch = [1, 2] }\n"));
}

// A module without a train section is called after its models, as the one that trained them is.
TEST(Operations, ModulesAreCalledAfterTheirModels) {
  for (const std::string &text :
       {net + train, net + infer, net + infer + "infer Net as b { T = 5 }\n"}) {
    Compiled compiled(text);
    ASSERT_TRUE(compiled.result) << compiled.diagnostics();
    EXPECT_EQ(compiled.result->getSymName(), "Net");
  }
}

} // namespace
