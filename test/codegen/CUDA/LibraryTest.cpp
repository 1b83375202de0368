//===- LibraryTest.cpp - the library takes what dl-join-product-gradients makes ---------------===//
#include "codegen/CUDA/CudaTarget.h"
#include "codegen/Plan/TargetCandidates.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
/// A network of two linear layers with a relu between them.
struct Network {
  int64_t batch, inputs, hidden, outputs;
  bool turned[2]; ///< a layer's weight is [inputs, outputs], not [outputs, inputs]
  bool biased;

  std::string text() const;
};
} // namespace

static std::string matrix(int64_t rows, int64_t columns) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
}

/// Reads a weight, multiplies `x` with it, adds a bias.
static std::string layer(const Network &n, int number, StringRef x) {
  int64_t in = number ? n.hidden : n.inputs, out = number ? n.outputs : n.hidden;
  std::string i = std::to_string(number), w = n.turned[number] ? matrix(in, out) : matrix(out, in),
              y = matrix(n.batch, out);
  std::string b = "tensor<" + std::to_string(out) + "xf32>";
  std::string text = "  %w" + i + " = dl.read @w" + i + " : " + w + "\n  %m" + i + " = dl.matmul " +
                     x.str() + ", %w" + i + (n.turned[number] ? "" : " transpose_b") + " : " +
                     matrix(n.batch, in) + ", " + w + "\n";
  if (!n.biased)
    return text + "  %zero" + i + " = dl.constant dense<0.0> : " + y + "\n  %y" + i +
           " = dl.add %m" + i + ", %zero" + i + " : " + y + "\n";
  return text + "  %b" + i + " = dl.read @b" + i + " : " + b + "\n  %bb" + i +
         " = dl.broadcast %b" + i + " dims = [1] : " + b + " to " + y + "\n  %y" + i +
         " = dl.add %m" + i + ", %bb" + i + " : " + y + "\n";
}

std::string Network::text() const {
  std::string variables, updates;
  for (int i : {0, 1}) {
    int64_t in = i ? hidden : inputs, out = i ? outputs : hidden;
    for (auto [name, type] :
         {std::pair<std::string, std::string>("w", turned[i] ? matrix(in, out) : matrix(out, in)),
          {"b", "tensor<" + std::to_string(out) + "xf32>"}}) {
      if (name == "b" && !biased)
        continue;
      variables += "dl.variable @" + name + std::to_string(i) + " : " + type +
                   " role<parameter> init(#program.init<uniform, -0.5, 0.5>)\n";
      updates += (updates.empty() ? "" : ", ") + ("#dl.update<@" + name + std::to_string(i)) +
                 ", lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<\"sgd\", {learning_rate = 0.25 "
                 ": f64}>>";
    }
  }
  std::string logits = matrix(batch, outputs), losses = "tensor<" + std::to_string(batch) + "xf32>",
              labels = "tensor<" + std::to_string(batch) + "xi32>";
  return variables + "dl.entry @train_step(%x: " + matrix(batch, inputs) + ", %label: " + labels +
         ") -> () attributes {kind = #program.entry<train>, updates = [" + updates + "]} {\n" +
         layer(*this, 0, "%x") + "  %r = dl.relu %y0 : " + matrix(batch, hidden) + "\n" +
         layer(*this, 1, "%r") +
         "  %l = dl.softmax_cross_entropy %y1, %label axis = 1 : " + logits + ", " + labels +
         "\n  %loss = dl.reduce sum %l axes = [0] : " + losses +
         "\n  dl.return loss(%loss : tensor<f32>)\n}\n";
}

/// The epilogues of the network's products, all of them calls of the library.
static std::multiset<uint32_t> epiloguesOf(const Network &network) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(network.text(), &context);
  std::multiset<uint32_t> epilogues;
  if (!module) {
    ADD_FAILURE() << network.text();
    return epilogues;
  }
  DLPipelineOptions options;
  CudaTarget library;
  library.simt = true;
  auto selector = std::make_shared<KernelSelector>(library.clone());
  options.candidates = createCandidateSource(selector);
  PassManager manager(&context);
  addTrainPasses(manager, options);
  addFusionPasses(manager, options);
  EXPECT_TRUE(succeeded(manager.run(*module)));
  library.settings.products = Provider::Own;
  KernelSelector own(library.clone());
  module->walk([&](dl::FusedOp fused) {
    Block &block = fused.getBody().front();
    if (block.getOps<dl::MatmulOp>().empty())
      return;
    FailureOr<SelectedKernel> kernel = selector->select(block);
    ASSERT_TRUE(succeeded(kernel));
    EXPECT_EQ(kernel->generator->name(), "library");
    uint32_t epilogue = kernel->candidate.phases[0].call->call.epilogue;
    if (epilogue != 0)
      EXPECT_EQ(kernel->candidate.phases.size(), 1u) << kernel->candidate.schedule;
    epilogues.insert(epilogue);
    // Should the library decline, another generator takes it.
    EXPECT_TRUE(succeeded(own.select(block)));
  });
  return epilogues;
}

TEST(Library, TakesWhatThePassMakes) {
  auto sums = [](bool turned) -> uint32_t {
    return turned ? DLC_EPILOGUE_SUMS_B : DLC_EPILOGUE_SUMS_A;
  };
  for (auto [batch, inputs, hidden, outputs] :
       {std::array<int64_t, 4>{4, 6, 5, 3}, {1, 1, 1, 2}, {128, 3, 131, 2}, {3, 9, 128, 10}})
    for (unsigned flags = 0; flags < 8; ++flags) {
      Network network = {
          batch, inputs, hidden, outputs, {(flags & 1) != 0, (flags & 2) != 0}, (flags & 4) != 0};
      SCOPED_TRACE(network.text());
      // Forward and gradients of data: a ReLU or its mask is a launch behind the call.
      std::multiset<uint32_t> expected = {0, 0, 0, 0, 0};
      if (network.biased)
        expected = {0, DLC_EPILOGUE_BIAS, 0, sums(network.turned[0]), sums(network.turned[1])};
      EXPECT_EQ(epiloguesOf(network), expected);
    }
}
