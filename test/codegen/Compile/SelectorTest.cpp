//===- SelectorTest.cpp - generators are asked once -------------------------------------------===//
#include "codegen/CUDA/Text/Sources.h"
#include "codegen/Compile/KernelSelector.h"
#include "codegen/Targets.h"
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

std::shared_ptr<const Target> targetOf(StringRef name) { return llvm::cantFail(getTarget(name)); }

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

static void expectEqual(const KernelOffer &a, const KernelOffer &b) {
  ASSERT_EQ(a.candidates.size(), b.candidates.size());
  for (auto [one, other] : llvm::zip(a.candidates, b.candidates)) {
    EXPECT_EQ(one.name(), other.name());
    EXPECT_EQ(one.candidate.cost, other.candidate.cost);
    EXPECT_EQ(one.candidate.workspaceBytes, other.candidate.workspaceBytes);
  }
}

/// Threads that ask at once get what one gets, and all the same.
TEST(Selector, Threads) {
  KernelSelector alone(targetOf("cpu:avx2")), shared(targetOf("cpu:avx2"));
  std::vector<const KernelOffer *> answers(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] { answers[i] = &shared.offer(Product(i % 2 ? 64 : 96).spec()); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i], answers[i % 2]);
    expectEqual(*answers[i], alone.offer(Product(i % 2 ? 64 : 96).spec()));
  }
}

/// What is found beforehand does not depend on the number of threads, nor on texts that come twice.
TEST(Selector, Prepares) {
  std::vector<std::string> texts;
  for (int size : {16, 96, 33, 16, 64})
    texts.push_back(Product(size).spec().canonicalText());
  for (const char *target : {"cpu:avx2", "cuda:sm_90"}) {
    KernelSelector alone(targetOf(target));
    for (unsigned threads : {0, 1, 2, 7}) {
      KernelSelector selector(targetOf(target));
      selector.prepare(texts, threads);
      for (int size : {16, 96, 33, 64})
        expectEqual(selector.offer(Product(size).spec()), alone.offer(Product(size).spec()));
    }
  }
}

/// A candidate is taken by its generator and schedule; one that nobody offers is an error.
TEST(Selector, TakesWhatIsChosen) {
  KernelSelector selector(targetOf("cpu:avx2"));
  Product product(64);
  Builder builder(product.block().getParentOp()->getContext());
  auto chosen = [&](StringRef generator, StringRef schedule) {
    return program::CandidateAttr::get(builder.getContext(), builder.getStringAttr(generator),
                                       builder.getStringAttr(schedule), builder.getF64FloatAttr(0),
                                       /*workspace=*/0,
                                       /*not_in_place=*/false);
  };
  for (const GeneratedCandidate &candidate : selector.offer(product.spec()).candidates) {
    FailureOr<SelectedKernel> kernel = selector.select(
        product.block(), chosen(candidate.generator->name(), candidate.candidate.schedule));
    ASSERT_TRUE(succeeded(kernel));
    EXPECT_EQ(kernel->generator, candidate.generator);
    EXPECT_EQ(kernel->candidate.schedule, candidate.candidate.schedule);
  }
  std::string message;
  ScopedDiagnosticHandler handler(product.block().getParentOp()->getContext(),
                                  [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(failed(selector.select(product.block(), chosen("cpu-map", "nothing"))));
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
