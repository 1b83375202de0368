// Warnings with their exact text; they leave the module, and -Werror takes it.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

static std::string warnings(llvm::StringRef text) {
  Compiled compiled(text);
  EXPECT_TRUE(compiled.result) << compiled.diagnostics();
  return compiled.diagnostics();
}

TEST(Warnings, ValuesThatNothingReads) {
  EXPECT_EQ(warnings(inModel("y = relu(x)\na, b = [1, 2]\nlayer f = linear(_, a)\n_z = 3")),
            R"(test.dl:2:3: warning: 'y' is never used
  y = relu(x)
  ^
test.dl:4:9: warning: 'f' is never used
  layer f = linear(_, a)
        ^
)");
}

TEST(Warnings, ParametersConstantsAndImports) {
  EXPECT_EQ(
      warnings("rate = 1\n_kept = 2\nblock B(x, y=2, _z=3) { return x }\n" + inModel("x = B(x)")),
      R"(test.dl:1:1: warning: the constant 'rate' is never used
rate = 1
^~~~
test.dl:3:12: warning: 'y' of 'B' is never used
block B(x, y=2, _z=3) { return x }
           ^
)");
}

TEST(Warnings, F16WithoutAScaleOfItsLoss) {
  auto text = [](const std::string &settings, const std::string &type = "bf16") {
    return "model M(x: f32[N, 3]) -> f32[N, 2] {\n  return linear(x, 2, precision=" + type +
           ")\n}\n"
           "train M {\n  label: i32[N]\n  loss = softmax_cross_entropy(output, label)\n"
           "  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n" +
           settings + "}\n";
  };
  EXPECT_EQ(
      warnings(text("  precision = f16\n  loss_scale = none\n")),
      R"(test.dl:10:3: warning: in f16 gradients below 6e-8 are lost where the loss is not scaled
  loss_scale = none
  ^~~~~~~~~~ loss_scale = "dynamic"
)");
  EXPECT_EQ(warnings(text("  precision = f16\n")), "");
  EXPECT_EQ(warnings(text("  precision = f16\n  loss_scale = 128\n")), "");
  EXPECT_EQ(warnings(text("  precision = bf16\n  loss_scale = none\n")), "");
  EXPECT_NE(warnings(text("  loss_scale = none\n", "f16")), "");
}

TEST(Warnings, MastersOfWhatIsNotIn16Bits) {
  auto text = [](const std::string &settings, const std::string &type = "f32") {
    return "model M(x: f32[N, 3]) -> f32[N, 2] {\n  return linear(x, 2, precision=" + type +
           ")\n}\n"
           "train M {\n  label: i32[N]\n  loss = softmax_cross_entropy(output, label)\n"
           "  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n" +
           settings + "}\n";
  };
  EXPECT_EQ(warnings(text("  masters = false\n")),
            R"(test.dl:9:3: warning: nothing of the section is in 16 bits, so no weight has a master
  masters = false
  ^~~~~~~ precision = bf16
)");
  EXPECT_EQ(warnings(text("  masters = true\n")), "");
  EXPECT_EQ(warnings(text("  masters = false\n", "bf16")), "");
  EXPECT_EQ(warnings(text("  masters = false\n  precision = f16\n")), "");
}

TEST(Warnings, ANameThatIsBoundAgainAndReadIsUsed) {
  EXPECT_EQ(warnings(inModel("y = 1\nif y == 1 { y = 2 }\nfor i in range(2) { x = relu(x) }")), "");
}

// A model that is called by itself reads the fields of its inputs' names.
TEST(Warnings, FieldsThatNothingReads) {
  auto text = [](const std::string &fields, const std::string &section) {
    return "model M(x: f32[N, 3]) -> f32[N, 2] {\n  return linear(x, 2)\n}\ntrain M {\n" + fields +
           "  label: i32[N]\n" + section + "  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n}\n";
  };
  EXPECT_EQ(warnings(text("  x: f32[N, 3]\n  _later: i32[N]\n", "  loss = mean(output)\n")),
            R"(test.dl:7:3: warning: the field 'label' is never used
  label: i32[N]
  ^~~~~ the data must deliver it all the same
)");
  EXPECT_EQ(warnings(text("  x: f32[N, 3]\n  z: f32[N, 3]\n",
                          "  loss = softmax_cross_entropy(M(z), label)\n")),
            R"(test.dl:5:3: warning: the field 'x' is never used
  x: f32[N, 3]
  ^ the data must deliver it all the same
)");
  EXPECT_EQ(warnings(text("", "  loss = softmax_cross_entropy(output, label)\n") +
                     "infer M { z: f32[N, 3]\n return output }\n"),
            R"(test.dl:10:11: warning: the field 'z' is never used
infer M { z: f32[N, 3]
          ^ the data must deliver it all the same
)");
}

// What is cut, compared, or made of other numbers is not known to be out of range.
TEST(Warnings, NumbersInTheirRange) {
  EXPECT_EQ(warnings(inModel(R"(a = gather(x, tensor([7, 0], dtype=i32), axis=2)
b = gather(x, tensor([0, 8], dtype=i32)[:1], axis=2)
c = gather(x, i32(bool(tensor([0.0, 9.0]))), axis=2)
d = gather(x, i32(tensor([7.9, -0.9])), axis=2)
e = softmax_cross_entropy(zeros((3, 5)), tensor([4, 9, 0], dtype=i64), ignore=9)
x = x + mean(a) + mean(b) + mean(c) + mean(d) + e)")),
            "");
}

// PyTorch warns of it, too: nothing is dropped.
TEST(Warnings, DropoutBetweenLayersOfWhichThereIsOne) {
  EXPECT_EQ(warnings(inModel(
                "s, h, c = lstm(zeros((5, 4, 3)), 8, dropout=0.25)\ns, h = gru(s, 8, layers=2, "
                "dropout=0.25)\ns, h = gru(s, 8)\nx = x + mean(s) + mean(h) + mean(c)")),
            R"(test.dl:2:47: warning: 'dropout' stands between layers, and this lstm has one
  s, h, c = lstm(zeros((5, 4, 3)), 8, dropout=0.25)
                                              ^~~~ dropout(y, 0.25) behind it drops its outputs
)");
}

static const char *aux = R"(
model M(x: f32[N, 3]) -> (score: f32[N, 2], aux: f32[N, 4]) {
  return linear(x, 2), linear(x, 4, name="aux")
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(score, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
)";

TEST(Warnings, WeightsThatNothingTrains) {
  EXPECT_EQ(warnings(aux + std::string("}\n")),
            R"(test.dl:3:42: warning: the weight 'aux.weight' is never trained
  return linear(x, 2), linear(x, 4, name="aux")
                                         ^~~~~ no loss depends on it; frozen = true keeps it as it is
)");
  EXPECT_EQ(warnings(aux + std::string("  parameters \"aux.*\" { frozen = true }\n}\n")), "");
}

TEST(Warnings, WeightsThatALossUsesAndNoStepUpdates) {
  EXPECT_EQ(warnings(R"(model A(x: f32[N, 3]) -> f32[N, 3] { return linear(x, 3) }
model B(x: f32[N, 3]) -> f32[N, 2] { return linear(x, 2, bias=false) }
train A, B {
  x: f32[N, 3]
  label: i32[N]
  optimizer = sgd(learning_rate=0.1)
  step first updates A { loss = softmax_cross_entropy(B(A(x)), label) }
  batch = 4
}
)"),
            R"(test.dl:2:45: warning: the weight 'B.linear1.weight' is never trained
model B(x: f32[N, 3]) -> f32[N, 2] { return linear(x, 2, bias=false) }
                                            ^~~~~~ a loss depends on it, but no step updates it; frozen = true says so
)");
}

TEST(Warnings, AStepThatUpdatesNothing) {
  EXPECT_EQ(warnings(inModel("x = relu(x)")
                         .insert(inModel("x = relu(x)").rfind("}"),
                                 "  parameters \"**\" { lr_mult = 0 }\n")),
            R"(test.dl:7:3: warning: the train section updates nothing: every lr_mult is 0
  loss = softmax_cross_entropy(output, label)
  ^~~~ frozen = true leaves a parameter as it is
)");
}

TEST(Warnings, AnActivationBeforeALossThatHasIt) {
  std::string text = inModel("x = relu(x)");
  text.replace(text.find("linear(10)"), 10, "linear(10) |> softmax");
  EXPECT_EQ(
      warnings(text),
      R"(test.dl:7:32: warning: softmax_cross_entropy applies softmax itself, this has gone through it already
  loss = softmax_cross_entropy(output, label)
                               ^~~~~~ give it the logits
)");
  text.replace(text.find("|> softmax"), 10, "|> softmax |> log");
  EXPECT_EQ(warnings(text), "");
}

TEST(Warnings, ASettingThatIsBoundTwice) {
  auto behind = [](llvm::StringRef more) {
    std::string text = inModel("x = relu(x)");
    return text.insert(text.rfind("}"), more.str());
  };
  EXPECT_EQ(warnings(behind("  epochs = 2\n  epochs = 3\n")),
            R"(test.dl:10:3: warning: 'epochs' is bound again before it is read
  epochs = 2
  ^~~~~~
test.dl:11:3: note: bound again here
)");
  EXPECT_EQ(warnings(behind("  loss = loss + 1\n  if true { batch = 8 }\n")), "");
  EXPECT_EQ(warnings(behind("  metric m = loss\n  loss = 2 * mean(output)\n")), "");
}

TEST(Warnings, AreErrorsIfAskedFor) {
  SourceManager sources;
  DiagnosticEngine engine;
  engine.warningsAreErrors = true;
  mlir::MLIRContext context;
  FileId file = sources.add("test.dl", inModel("y = relu(x)"));
  EXPECT_FALSE(compile(sources, file, FrontendOptions(), context, engine));
  EXPECT_EQ(engine.errorCount(), 1u);
}

TEST(Warnings, KeepQuietBesideErrors) {
  Compiled compiled(inModel("y = relu(x)\nz = rellu(x)"));
  ASSERT_EQ(compiled.engine.diagnostics().size(), 1u);
  EXPECT_EQ(compiled.engine.diagnostics().front().message, "unknown name 'rellu'");
}

TEST(Warnings, AlgorithmsByTheNamesOfOthers) {
  EXPECT_EQ(warnings(inModel("x = conv2d(x, 3, 3, algorithm=\"winograd_non_fused\", "
                             "backward_data_algorithm=\"time_once\")\n"
                             "x = conv2d(x, 3, 3, algorithm=\"IMPLICIT_GEMM\")\n"
                             "x = conv2d(x, 3, 3, algorithm=\"fft_tiling\")")),
            R"(test.dl:2:33: warning: 'winograd_non_fused' is Theano's name, taken as "winograd"
  x = conv2d(x, 3, 3, algorithm="winograd_non_fused", backward_data_algorithm="time_once")
                                ^~~~~~~~~~~~~~~~~~~~ write "winograd"
test.dl:2:79: warning: 'time_once' is Theano's name, taken as "heuristic"
  x = conv2d(x, 3, 3, algorithm="winograd_non_fused", backward_data_algorithm="time_once")
                                                                              ^~~~~~~~~~~ 'dlc tune' times algorithms
test.dl:3:33: warning: 'IMPLICIT_GEMM' is NVCaffe's name, taken as "gemm"
  x = conv2d(x, 3, 3, algorithm="IMPLICIT_GEMM")
                                ^~~~~~~~~~~~~~~ write "gemm"
test.dl:4:33: warning: 'fft_tiling' is Theano's name, taken as "fft"
  x = conv2d(x, 3, 3, algorithm="fft_tiling")
                                ^~~~~~~~~~~~ write "fft"
)");
}

TEST(Warnings, AModelThatNothingTrains) {
  auto text = [](const std::string &loss) {
    return "model A(x: f32[N, 3]) -> f32[N, 2] {\n  return linear(x, 2)\n}\n"
           "model B(x: f32[N, 3]) -> f32[N, 2] {\n  return linear(x, 2)\n}\n"
           "train A, B {\n  x: f32[N, 3]\n  loss = " +
           loss + "\n  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n}\n";
  };
  EXPECT_EQ(warnings(text("mean(A(x))")),
            R"(test.dl:7:10: warning: the model 'B' is listed and nothing trains it
train A, B {
         ^ no line of the section calls B(...)
)");
  EXPECT_EQ(warnings(text("mean(A(x) * B(x))")), "");
}
