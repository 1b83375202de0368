// Tries each argument of each built-in, because the language's page says which are available: its
// tables are made from the rows that are tried here. A row without a trial is a failure.
#include "test/frontend/Harness.h"

#include "frontend/DL/Builtins/Builtins.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace dlc::frontend;
using namespace dlc::frontend::test;

namespace {
/// Arguments that a built-in needs, and for its options, where the standard trial of their kind
/// will not do, what stands behind those: "padding" -> "padding=1".
struct Trial {
  const char *name;
  std::string required;
  llvm::StringMap<std::string> options = {};
};
} // namespace

static llvm::StringMap<std::string> window(const std::string &weight) {
  return {{"groups", "groups=3"}, {"weight", "weight=zeros(" + weight + ")"}};
}
static llvm::StringMap<std::string> transposed(const std::string &weight) {
  llvm::StringMap<std::string> options = window(weight);
  options["output_padding"] = "stride=2, output_padding=1";
  return options;
}
/// Of a curve that needs a length: the other unit instead of the one it has, or beside it.
static llvm::StringMap<std::string> curve() {
  llvm::StringMap<std::string> options{{"epochs", "epochs=2"}, {"steps", "steps=2"}};
  for (const char *name : {"factor", "power", "end", "multiply", "peak", "start", "low"})
    options[name] =
        std::string("epochs=2, ") + name + (name == std::string("multiply") ? "=2" : "=0.5");
  return options;
}

/// The path of a file with two numbers, as numpy writes them.
static std::string writtenTensor() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", path;
  header.resize(117, ' ');
  std::string content("\x93NUMPY\x01\x00\x76\x00", 10);
  content += header + "\n" + std::string(8, '\0');
  path = testing::TempDir() + "arguments-test.npy";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

static const std::vector<Trial> &trials() {
  static const std::vector<Trial> list{
      {"conv1d", "line, 3, 3", window("(3, 3, 3)")},
      {"conv2d", "x, 3, 3", window("(3, 3, 3, 3)")},
      {"conv3d", "volume, 3, 2", window("(3, 3, 2, 2, 2)")},
      {"conv_transpose1d", "line, 3, 3", transposed("(3, 3, 3)")},
      {"conv_transpose2d", "x, 3, 3", transposed("(3, 3, 3, 3)")},
      {"conv_transpose3d", "volume, 3, 3", transposed("(3, 3, 3, 3, 3)")},
      {"linear", "x, 2", {{"weight", "weight=zeros((2, 8))"}}},
      {"embedding",
       "label, 10, 4",
       {{"padding_index", "padding_index=2"}, {"weight", "weight=zeros((10, 4))"}}},
      {"lstm",
       "zeros((5, 4, 3)), 2",
       {{"initial", "initial=(zeros((1, 4, 2)), zeros((1, 4, 2)))"},
        {"lengths", "lengths=tensor([2, 5, 0, 1], dtype=i32)"}}},
      {"gru",
       "zeros((5, 4, 3)), 2",
       {{"initial", "initial=zeros((1, 4, 2))"},
        {"lengths", "lengths=tensor([2, 5, 0, 1], dtype=i32)"}}},
      {"prelu", "x", {{"count", "count=3"}}},
      {"batch_norm", "x"},
      {"layer_norm", "x", {{"axes", "axes=(2, 3)"}}},
      {"rms_norm", "x", {{"axes", "axes=(2, 3)"}}},
      {"group_norm", "x, 3"},
      {"instance_norm", "x"},
      {"relu", "x"},
      {"relu6", "x"},
      {"leaky_relu", "x"},
      {"elu", "x"},
      {"selu", "x"},
      {"gelu", "x", {{"approximate", "approximate=\"tanh\""}}},
      {"silu", "x"},
      {"hardswish", "x"},
      {"hardsigmoid", "x"},
      {"softplus", "x"},
      {"softsign", "x"},
      {"sigmoid", "x"},
      {"tanh", "x"},
      {"softmax", "x"},
      {"log_softmax", "x"},
      {"add", "x, 1"},
      {"subtract", "x, 1"},
      {"multiply", "x, 2"},
      {"divide", "x, 2"},
      {"maximum", "x, 1"},
      {"minimum", "x, 1"},
      {"pow", "x, 2"},
      {"floor", "x"},
      {"erf", "x"},
      {"exp", "x"},
      {"log", "x"},
      {"sqrt", "x"},
      {"rsqrt", "x"},
      {"abs", "x"},
      {"sign", "x"},
      {"square", "x"},
      {"clamp", "x, 0, 1"},
      {"select", "x > 0, x, 0"},
      {"logical_and", "x > 0, x < 1"},
      {"logical_or", "x > 0, x < 1"},
      {"logical_not", "x > 0"},
      {"f32", "label"},
      {"f64", "x"},
      {"bf16", "x"},
      {"f16", "x"},
      {"i32", "x"},
      {"i64", "x"},
      {"u8", "x"},
      {"bool", "x"},
      {"sum", "x"},
      {"mean", "x"},
      {"max", "x"},
      {"min", "x"},
      {"product", "x"},
      {"norm", "x"},
      {"cumulative_sum", "x, 1"},
      {"top_k", "x, 2"},
      {"argmax", "x, 1"},
      {"max_pool", "x, 3"},
      {"average_pool", "x, 3"},
      {"global_average_pool", "x"},
      {"global_max_pool", "x"},
      {"reshape", "x, (N, 192)"},
      {"flatten", "x"},
      {"transpose", "x, (0, 1, 3, 2)"},
      {"concat", "[x, x]", {{"axis", "axis=2"}}},
      {"stack", "[x, x]"},
      {"split", "x, 1", {{"axis", "axis=2"}}},
      {"pad", "x, ((0, 0), (1, 2), (0, 0), (3, 0))"},
      {"gather", "ones((5, 3)), zeros_index", {{"axis", "axis=1"}}},
      {"scatter_add", "ones((3, 3)), zeros_index, ones((3, 3))", {{"axis", "axis=1"}}},
      {"broadcast", "x, (2, N, 3, 8, 8)"},
      {"matmul", "x, x"},
      {"attention",
       "x, x, x",
       {{"mask", "mask=zeros((8, 8))"}, {"scale", "scale=0.5"}, {"dropout", "dropout=0.5"}}},
      {"one_hot", "label, 10"},
      {"stop_gradient", "x"},
      {"dropout", "x"},
      {"random_normal", "(N, 3)"},
      {"random_uniform", "(N, 3)"},
      {"random_bernoulli", "(N, 3), 0.5"},
      {"gradient", "sum(x), x"},
      {"by_phase", "x, 2 * x"},
      {"tensor",
       "[1.0, 2.0]",
       {{"numbers", "[3.0]"},
        {"shape", "shape=(2, 1)"},
        {"file", "file=\"" + writtenTensor() + "\""}}},
      {"zeros", "(2, 3)"},
      {"ones", "(2, 3)"},
      {"full", "(2, 3), 0.5"},
      {"local_response_norm", "x, 3"},
      {"upsample",
       "x, 2",
       {{"mode", "mode=\"bilinear\""}, {"align_corners", "mode=\"bilinear\", align_corners=true"}}},
      {"grid_sample",
       "x, reshape(x, (N, 12, 8, 2))",
       {{"mode", "mode=\"nearest\""}, {"padding", "padding=\"border\""}}},
      {"pixel_shuffle", "reshape(x, (N, 12, 4, 4)), 2"},
      {"softmax_cross_entropy",
       "scores, label",
       {{"axis", "axis=-1"}, {"weight", "weight=zeros((10,))"}}},
      {"sigmoid_cross_entropy",
       "scores, 1",
       {{"weight", "weight=zeros((10,))"}, {"positive_weight", "positive_weight=zeros((10,))"}}},
      {"mean_squared_error", "scores, scores"},
      {"mean_absolute_error", "scores, scores"},
      {"huber", "scores, scores"},
      {"kl_divergence", "scores, scores"},
      {"hinge", "scores, scores"},
      {"cosine_embedding", "scores, scores, f32(label)"},
      {"accuracy", "scores, label", {{"axis", "axis=-1"}}},
      {"top_k_accuracy", "scores, label"},
      {"binary_accuracy", "scores, 1"},
      {"perplexity", "scores, label", {{"axis", "axis=-1"}}},
      {"auroc", "scores, scores"},
      {"confusion", "scores, label", {{"axis", "axis=-1"}}},
      {"sort", "x"},
      {"argsort", "x"},
      {"flip", "x, 1"},
      {"tile", "x, (1, 2, 1, 1)"},
      {"adaptive_average_pool", "x, 3"},
      {"adaptive_max_pool", "x, 3"},
      {"channels", "x"},
      {"size", "x, 1"},
      {"shape", "x"},
      {"rank", "x"},
      {"len", "[1]"},
      {"range", "3", {{"b", "b=5"}, {"step", "b=5, step=2"}}},
      {"enumerate", "[1]"},
      {"zip", "[1], [2]"},
      {"reversed", "[1]"},
      {"div", "3, 2"},
      {"int", "2.5"},
      {"float", "2"},
      {"format", "\"conv{}\", 2"},
      {"sgd",
       "0.1",
       {{"dampening", "momentum=0.5, dampening=0.5"}, {"nesterov", "momentum=0.5, nesterov=true"}}},
      {"lars", "0.1"},
      {"lamb", "", {{"betas", "betas=(0.5, 0.5)"}}},
      {"muon", "", {{"betas", "betas=(0.5, 0.5)"}}},
      {"adam", "", {{"betas", "betas=(0.5, 0.5)"}}},
      {"adamw", "", {{"betas", "betas=(0.5, 0.5)"}}},
      {"rmsprop"},
      {"adagrad"},
      {"adadelta"},
      {"constant", "", curve()},
      {"step", "", curve()},
      {"multistep",
       "",
       {{"epochs", "epochs=[1, 2]"},
        {"steps", "steps=[1, 2]"},
        {"factor", "epochs=[1], factor=0.5"}}},
      {"exponential", "0.5", {{"epochs", "epochs=2"}, {"steps", "steps=2"}}},
      {"polynomial", "", curve()},
      {"cosine", "", curve()},
      {"cosine_restarts", "", curve()},
      {"one_cycle", "", curve()},
      {"cyclic", "", curve()},
      {"warmup", "", curve()},
      {"plateau", "", {{"metric", "metric=\"accuracy\""}, {"mode", "mode=\"max\""}}},
      {"value", "1"},
      {"parameter_norm", "1"},
      {"global_norm", "1"},
      {"uniform", "0, 1"},
      {"normal", "0, 1"},
      {"truncated_normal", "0, 1"},
      {"xavier_uniform", ""},
      {"xavier_normal", ""},
      {"kaiming_uniform", "", {{"mode", "mode=\"fan_out\""}}},
      {"kaiming_normal", "", {{"mode", "mode=\"fan_out\""}}},
      {"orthogonal", ""},
  };
  return list;
}

static const Trial *findTrial(llvm::StringRef name) {
  for (const Trial &trial : trials())
    if (name == trial.name)
      return &trial;
  return nullptr;
}

/// A value that is not the default, by the kind of the parameter.
static std::string otherValue(const BuiltinParam &param) {
  std::string name = param.name.str();
  switch (param.kind) {
  case ParamKind::Bool:
    return name + (param.defaultValue.as<bool>() ? "=false" : "=true");
  case ParamKind::Number:
    return name + "=0.5";
  case ParamKind::String:
    return name + "=\"sum\"";
  case ParamKind::DType:
    return name + "=f64";
  default:
    return name + (name == "axis" || name == "axes" || name == "padding" ? "=1" : "=2");
  }
}

/// What is said of a call of it; empty if it is taken.
static std::string complaint(const Builtin &row, const std::string &arguments) {
  Compiled compiled(inModel("line = reshape(x, (N, 3, 64))\n"
                            "volume = reshape(x, (N, 3, 4, 4, 4))\n"
                            "scores = linear(flatten(x), 10)\n"
                            "label = argmax(scores, 1)\n"
                            "zeros_index = i32(zeros((3,)))\n"
                            "tried = " +
                            row.name.str() + "(" + arguments + ")"));
  return compiled.engine.hasErrors() ? compiled.engine.diagnostics().front().message : "";
}

static std::string joined(const std::string &a, const std::string &b) {
  return a + (a.empty() || b.empty() ? "" : ", ") + b;
}

TEST(Arguments, EachOptionIsTaken) {
  for (const Builtin &row : builtins()) {
    const Trial *trial = findTrial(row.name);
    ASSERT_TRUE(trial) << "no trial of " << row.name.str();
    for (const BuiltinParam &param : row.params) {
      if (param.isRequired())
        continue;
      auto own = trial->options.find(param.name);
      std::string option = own == trial->options.end() ? otherValue(param) : own->second;
      bool replaces = row.name == "tensor" && (param.name == "numbers" || param.name == "file");
      std::string arguments = replaces ? option : joined(trial->required, option);
      EXPECT_EQ(complaint(row, arguments), "") << row.name.str() << "(" << arguments << ")";
    }
  }
}

TEST(Arguments, DefaultsAreAvailable) {
  for (const Trial &trial : trials()) {
    const Builtin &row = *findBuiltin(trial.name);
    bool needsLength =
        row.category == Category::Schedule && row.byPosition() == 0 && row.name != "constant";
    std::string said =
        complaint(row, needsLength ? trial.options.lookup("epochs") : trial.required);
    EXPECT_EQ(said, "") << trial.name;
  }
}

TEST(Arguments, WhatStandsBehindTheStarIsGivenByName) {
  for (const Builtin &row : builtins()) {
    unsigned count = row.byPosition();
    if (count == row.params.size())
      continue;
    // As many as may stand there, none of which is looked at before they are counted.
    std::string arguments = "x";
    for (unsigned i = 0; i < count; ++i)
      arguments += ", x";
    std::string expected = row.name.str() + " takes its arguments by name";
    if (count) {
      llvm::SmallVector<llvm::StringRef> names;
      for (const BuiltinParam &param : llvm::ArrayRef(row.params).take_front(count))
        names.push_back(param.name);
      expected = row.name.str() + " takes " + std::to_string(count) + " argument" +
                 (count == 1 ? "" : "s") + " by position: " + llvm::join(names, ", ");
    }
    EXPECT_EQ(complaint(row, arguments), expected);
  }
}

/// What the page says to work does.
TEST(Arguments, PaddingThatKeepsTheSize) {
  for (const char *call :
       {"conv2d(x, 3, 5, padding=\"same\")", "max_pool(x, 3, stride=1, padding=\"same\")"}) {
    Compiled compiled(inModel(std::string("y = ") + call + "\nassert shape(y) == shape(x)"));
    EXPECT_FALSE(compiled.engine.hasErrors()) << compiled.diagnostics();
  }
}
