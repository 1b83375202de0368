//===- AttentionKernels.cpp - see AttentionKernels.h ----------------------------------------===//
#include "test/codegen/AttentionKernels.h"

using namespace dlc::test;

namespace {
/// Types, and the operands mask and kept as an op and a block name them.
struct Text {
  std::string q, k, v, o, lse, types, arguments, options;

  Text(const AttentionSizes &s, const std::string &causal, const std::string &mask, bool kept) {
    auto tensor = [&](std::initializer_list<int> sizes, const std::string &tail) {
      std::string text = "tensor<" + std::to_string(s.samples) + "x" + std::to_string(s.heads);
      for (int size : sizes)
        text += "x" + std::to_string(size);
      return text + tail + ">";
    };
    q = tensor({s.queries, s.depth}, "xf32");
    k = tensor({s.keys, s.depth}, "xf32");
    v = tensor({s.keys, s.width}, "xf32");
    o = tensor({s.queries, s.width}, "xf32");
    lse = tensor({s.queries}, "xf32");
    auto add = [&](const std::string &name, const std::string &type) {
      types += ", " + type;
      arguments += ", %" + name + ": " + type;
      options += " " + name + "(%" + name + " : " + type + ")";
    };
    if (!mask.empty())
      add("mask", tensor({s.queries, s.keys}, mask));
    if (kept)
      add("kept", tensor({s.queries, s.keys}, "xi1"));
    options += " scale = 0.5" + std::string(kept ? " rate = 0.25" : "") + causal;
  }
};
} // namespace

KernelSource dlc::test::attention(const AttentionSizes &sizes, const std::string &causal,
                                  const std::string &mask, bool kept) {
  Text t(sizes, causal, mask, kept);
  std::string three = t.q + ", " + t.k + ", " + t.v, results = t.o + ", " + t.lse;
  return {three + t.types, results,
          "^bb0(%q: " + t.q + ", %k: " + t.k + ", %v: " + t.v + t.arguments +
              "):\n %0:2 = dl.attention %q, %k, %v" + t.options + " : " + three +
              "\n dl.yield %0#0, %0#1 : " + results};
}

KernelSource dlc::test::attentionBackward(const AttentionSizes &sizes, const std::string &causal,
                                          const std::string &mask, bool kept) {
  Text t(sizes, causal, mask, kept);
  std::string three = t.q + ", " + t.k + ", " + t.v;
  // Scores are at most some units, and lse is not that of q and k: probabilities above 1.
  return {t.o + ", " + three + ", " + t.lse + ", " + t.lse + t.types, three,
          "^bb0(%d: " + t.o + ", %q: " + t.q + ", %k: " + t.k + ", %v: " + t.v + ", %l: " + t.lse +
              ", %s: " + t.lse + t.arguments +
              "):\n %0:3 = dl.attention_backward %d, %q, %k, %v, %l, %s" + t.options + " : " + t.o +
              ", " + three + ", " + t.lse + "\n dl.yield %0#0, %0#1, %0#2 : " + three};
}

KernelSource dlc::test::fusedAttention() {
  return {"tensor<2x3x18x8xf32>, tensor<2x3x21x8xf32>, tensor<2x3x21x8xf32>, tensor<2x21xi1>",
          "tensor<2x3x18x8xf32>, tensor<2x3x18xf32>", R"(
^bb0(%q: tensor<2x3x18x8xf32>, %k: tensor<2x3x21x8xf32>, %v: tensor<2x3x21x8xf32>,
     %m: tensor<2x21xi1>):
  %half = dl.constant dense<0.5> : tensor<2x3x18x8xf32>
  %scaled = dl.multiply %q, %half : tensor<2x3x18x8xf32>
  %mask = dl.broadcast %m dims = [0, 3] : tensor<2x21xi1> to tensor<2x3x18x21xi1>
  %element = dl.iota axes = [1, 2, 3] : tensor<2x3x18x21xi32>
  %sample = dl.iota axes = [0] : tensor<2x3x18x21xi32>
  %seed = dl.constant dense<7> : tensor<2x3x18x21xi32>
  %r = dl.random uniform %element, %sample, %seed, %seed, %seed, %seed path = 3
      : tensor<2x3x18x21xi32> to tensor<2x3x18x21xf32>
  %rate = dl.constant dense<0.25> : tensor<2x3x18x21xf32>
  %kept = dl.compare ge %r, %rate : tensor<2x3x18x21xf32>
  %0:2 = dl.attention %scaled, %k, %v mask(%mask : tensor<2x3x18x21xi1>)
      kept(%kept : tensor<2x3x18x21xi1>) scale = 0.5 rate = 0.25 : tensor<2x3x18x8xf32>,
      tensor<2x3x21x8xf32>, tensor<2x3x21x8xf32>
  dl.yield %0#0, %0#1 : tensor<2x3x18x8xf32>, tensor<2x3x18xf32>)"};
}
