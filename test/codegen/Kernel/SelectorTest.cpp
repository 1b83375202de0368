//===- SelectorTest.cpp - generators are asked once -------------------------------------------===//
#include "codegen/CUDA/Sources.h"
#include "codegen/Kernel/KernelSelector.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// A product of two matrices of `size`, in a context of its own.
class Product {
public:
  explicit Product(int size) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    const std::string n = std::to_string(size), type = "tensor<" + n + "x" + n + "xf32>";
    module = std::move(*parseKernel("%in:2 = builtin.unrealized_conversion_cast to " + type + ", " +
                                        type + "\n%out = dl.fused(%in#0, %in#1) : (" + type + ", " +
                                        type + ") -> " + type + " {\n^bb0(%a: " + type +
                                        ", %b: " + type + "):\n %y = dl.matmul %a, %b : " + type +
                                        ", " + type + "\n dl.yield %y : " + type + "\n}",
                                    context.get()));
  }
  Block &block() { return kernelBlock(*module); }
  KernelSpec spec() { return *KernelSpec::get(block()); }

private:
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

Target targetOf(StringRef name) { return llvm::cantFail(getTarget(name)); }

} // namespace

/// Equal kernels have one answer, whatever context they lie in; others have their own.
TEST(Selector, AsksOnce) {
  KernelSelector selector(targetOf("cpu:avx2"));
  Product a(64), same(64), other(65);
  const KernelOffer &offer = selector.offer(a.spec());
  EXPECT_EQ(&offer, &selector.offer(same.spec()));
  EXPECT_NE(&offer, &selector.offer(other.spec()));
  EXPECT_FALSE(offer.candidates.empty());
  EXPECT_EQ(offer.text, a.spec().canonicalText());
}

/// Threads that ask at once get what one gets.
TEST(Selector, Threads) {
  KernelSelector alone(targetOf("cpu:avx2")), shared(targetOf("cpu:avx2"));
  std::vector<const KernelOffer *> answers(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] {
      Product product(i % 2 ? 64 : 96);
      answers[i] = &shared.offer(product.spec());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i], answers[i % 2]);
    Product product(i % 2 ? 64 : 96);
    const KernelOffer &expected = alone.offer(product.spec());
    ASSERT_EQ(answers[i]->candidates.size(), expected.candidates.size());
    for (auto [a, b] : llvm::zip(answers[i]->candidates, expected.candidates)) {
      EXPECT_EQ(a.name(), b.name());
      EXPECT_EQ(a.candidate.cost, b.candidate.cost);
    }
  }
}

/// A candidate is taken by its name; one that nobody offers is an error.
TEST(Selector, TakesByName) {
  KernelSelector selector(targetOf("cpu:avx2"));
  Product product(64);
  for (const GeneratedCandidate &candidate : selector.offer(product.spec()).candidates) {
    FailureOr<SelectedKernel> kernel = selector.select(product.block(), candidate.name());
    ASSERT_TRUE(succeeded(kernel));
    EXPECT_EQ(kernel->generator, candidate.generator);
    EXPECT_EQ(kernel->candidate.schedule, candidate.candidate.schedule);
  }
  std::string message;
  ScopedDiagnosticHandler handler(product.block().getParentOp()->getContext(),
                                  [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(failed(selector.select(product.block(), "cpu-map: nothing")));
  EXPECT_EQ(message, "no generator offers 'cpu-map: nothing' for this kernel");
}

/// The text that a generator printed to offer a candidate is what is compiled; only the names of
/// its functions are put in. A library's call has an alternative of our own.
TEST(Selector, KeepsCudaText) {
  KernelSelector selector(targetOf("cuda:sm_90"));
  Product product(64);
  FailureOr<SelectedKernel> call = selector.select(product.block());
  ASSERT_TRUE(succeeded(call));
  EXPECT_EQ(call->generator->name(), "library");
  std::optional<SelectedKernel> own = selector.selectAlternative(*call);
  ASSERT_TRUE(own);
  EXPECT_FALSE(selector.selectAlternative(*own));
  const std::vector<GeneratedCandidate> &all = selector.offer(product.spec()).candidates;
  EXPECT_TRUE(llvm::any_of(all, [&](const GeneratedCandidate &one) {
    return one.candidate.text == own->candidate.text;
  }));
  CudaSource source = nameFunctions(own->candidate, own->symbol);
  ASSERT_FALSE(source.functions.empty());
  EXPECT_EQ(source.functions.size(), own->launches().size());
  for (const std::string &function : source.functions)
    EXPECT_NE(source.text.find(") " + function + "("), std::string::npos);
}
