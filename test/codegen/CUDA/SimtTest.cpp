//===- SimtTest.cpp - what the SIMT device sees in CUDA text ----------------------------------===//
#include "codegen/CUDA/Compile/Simt.h"
#include "codegen/CUDA/Compile/Headers.h"
#include "codegen/CUDA/Text/Sources.h"
#include "dlc/abi.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <csetjmp>
#include <gtest/gtest.h>

using namespace dlc::codegen;

namespace {

/// One kernel `f` over a buffer of 64 floats, or of 64 elements of a type of `header`; 64 threads a
/// block.
class Kernel {
public:
  explicit Kernel(const std::string &body, const std::string &element = "float",
                  const std::string &header = "") {
    CudaSource source;
    CudaHeaders headers;
    if (!header.empty()) {
      source.headers = {header};
      headers = llvm::cantFail(CudaHeaders::find());
      bytes = 64 * 2;
    }
    source.skeletons = {"common"};
    source.text = "__device__ int opaque(int i) { asm(\"\" : \"+r\"(i)); return i; }\n"
                  "extern \"C\" __global__ void f(Buffer<" +
                  element + "> y) {\n" + body + "\n}\n";
    source.parameters = {element};
    source.functions = {"f"};
    source.threads = {64};
    llvm::InitializeNativeTarget();
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    std::string object = llvm::cantFail(
        llvm::cantFail(HostCompiler::find()).compile(simtText(source), headers.folders));
    llvm::cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)));
    llvm::orc::SymbolMap libc;
    libc[jit->mangleAndIntern("memset")] = {llvm::orc::ExecutorAddr::fromPtr(&memset),
                                            llvm::JITSymbolFlags::Exported};
    libc[jit->mangleAndIntern("memcpy")] = {llvm::orc::ExecutorAddr::fromPtr(&memcpy),
                                            llvm::JITSymbolFlags::Exported};
    llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(libc)));
    function = llvm::cantFail(jit->lookup(simtSymbol("f"))).toPtr<dlc_kernel_fn>();
  }

  /// Runs one block; returns what was reported, "file:line thread message".
  std::string run(uint64_t seed) {
    std::fill(y.begin(), y.end(), -1);
    dlc_simt simt = {sizeof(dlc_simt), 1, seed, &bytes, fail, this};
    void *buffers[] = {y.data()};
    dlc_args args = {sizeof(dlc_args), 1, buffers, nullptr, &simt};
    report.clear();
    if (setjmp(escape) == 0)
      function(&args, 0, scratch.data());
    return report;
  }

  std::vector<float> y = std::vector<float>(64);

private:
  static void fail(const dlc_simt *simt, uint32_t block, uint32_t thread, const char *file,
                   uint32_t line, const char *message) {
    Kernel &self = *static_cast<Kernel *>(simt->user);
    self.report = std::string(file) + ":" + std::to_string(line) + " thread " +
                  std::to_string(thread) + ": " + message;
    longjmp(self.escape, 1);
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
  dlc_kernel_fn function;
  uint64_t bytes = 64 * sizeof(float);
  std::vector<char> scratch = std::vector<char>(64 * (1 << 15) + (128 << 10));
  std::string report;
  jmp_buf escape;
};

} // namespace

static const std::string exchange[] = {
    "struct S { float v[64]; }; SHARED(S, s);\n  int t = threadIdx.x;\n  s.v[t] = t;\n",
    "  y[t] = s.v[63 - t];"};

/// With its barrier the exchange is right under every order; without it wrong under some, and what
/// was not written yet is NaN.
TEST(Simt, RemovedBarrier) {
  Kernel right(exchange[0] + "  __syncthreads();\n" + exchange[1]),
      wrong(exchange[0] + exchange[1]);
  int seen = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(right.run(seed), "");
    for (int t = 0; t < 64; ++t)
      ASSERT_EQ(right.y[t], 63 - t);
    EXPECT_EQ(wrong.run(seed), "");
    for (int t = 0; t < 64; ++t) {
      ASSERT_TRUE(wrong.y[t] == 63 - t || std::isnan(wrong.y[t]));
      seen += std::isnan(wrong.y[t]);
    }
  }
  EXPECT_GT(seen, 0);
}

/// Lanes of one warp are no more ordered than warps are.
TEST(Simt, RaceWithinWarp) {
  Kernel wrong("struct S { float v[64]; }; SHARED(S, s);\n  int t = threadIdx.x;\n  s.v[t] = t;\n  "
               "y[t] = s.v[t ^ 1];");
  int seen = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    wrong.run(seed);
    for (int t = 0; t < 64; ++t)
      seen += std::isnan(wrong.y[t]);
  }
  EXPECT_GT(seen, 0);
}

/// A barrier that half of the block reaches, two different ones, and a shuffle that half of a warp
/// reaches.
TEST(Simt, Divergence) {
  Kernel half("if (threadIdx.x < 32)\n  __syncthreads();");
  EXPECT_EQ(half.run(3),
            "f.cu:4 thread 0: divergent barrier: not all threads of the block reach it");
  Kernel two("if (threadIdx.x < 40)\n  __syncthreads();\nelse\n  __syncthreads();");
  EXPECT_EQ(two.run(3),
            "f.cu:6 thread 40: divergent barrier: threads of the block wait at different ones");
  Kernel shuffle(
      "if (threadIdx.x % 32 < 16)\n  y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);");
  EXPECT_EQ(shuffle.run(3),
            "f.cu:4 thread 0: divergent shuffle: not all lanes of its mask reach it");
}

/// Accesses outside of a buffer, by element and by four.
TEST(Simt, OutOfBounds) {
  Kernel element("int i = opaque(threadIdx.x);\n  y[i + 1] = 1;");
  EXPECT_EQ(element.run(5), "f.cu:4 thread 63: access of element 64 of buffer 0, which has 64");
  Kernel below("int i = opaque(threadIdx.x);\n  y[i - 1] = 1;");
  EXPECT_EQ(below.run(5), "f.cu:4 thread 0: access of element -1 of buffer 0, which has 64");
  Kernel quad("int i = opaque(threadIdx.x);\n  if (i == 0)\n    storeQuad(y, 62, Quad<float>{});");
  EXPECT_EQ(quad.run(5),
            "f.cu:5 thread 0: store of a quad of element 62 of buffer 0, which has 64");
}

/// The same for elements of two bytes.
TEST(Simt, OutOfBoundsSmallFloat) {
  if (llvm::Expected<CudaHeaders> headers = CudaHeaders::find(); !headers)
    GTEST_SKIP() << llvm::toString(headers.takeError());
  for (auto [type, header] :
       {std::pair("__nv_bfloat16", "cuda_bf16.h"), {"__half", "cuda_fp16.h"}}) {
    Kernel element("int i = opaque(threadIdx.x);\n  y[i + 1] = 1.0f;", type, header);
    EXPECT_EQ(element.run(5), "f.cu:4 thread 63: access of element 64 of buffer 0, which has 64");
    Kernel quad("int i = opaque(threadIdx.x);\n  if (i == 0)\n    storeQuad(y, 64, Quad<" +
                    std::string(type) + ">{});",
                type, header);
    EXPECT_EQ(quad.run(5),
              "f.cu:5 thread 0: store of a quad of element 64 of buffer 0, which has 64");
    Kernel inside("int i = opaque(threadIdx.x);\n  if (i == 0)\n    storeQuad(y, 60, Quad<" +
                      std::string(type) + ">{});",
                  type, header);
    EXPECT_EQ(inside.run(5), "");
  }
}

/// Sums by shuffles, under all orders.
TEST(Simt, Shuffles) {
  Kernel sum("y[threadIdx.x] = combineWarp<Sum>(float(threadIdx.x));");
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(sum.run(seed), "");
    for (int t = 0; t < 64; ++t)
      ASSERT_EQ(sum.y[t], t < 32 ? 496 : 1520);
  }
}
