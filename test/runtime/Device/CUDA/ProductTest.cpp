// A product with each of its epilogues through a fake cuBLASLt, against the SIMT device's
// reference: what the CUDA device says in column-major terms is what abi.h says in row-major ones.
#include "runtime/Core/Initialise.h"
#include "runtime/Device/CUDA/CudaModule.h"
#include "runtime/Device/SIMT/Reference.h"
#include "test/lib/FakeCuda/FakeCublasLt.h"

#include <gtest/gtest.h>
#include <random>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

constexpr uint32_t bias = DLC_EPILOGUE_BIAS, add = DLC_EPILOGUE_ADD, sumsA = DLC_EPILOGUE_SUMS_A,
                   sumsB = DLC_EPILOGUE_SUMS_B;
constexpr uint32_t epilogues[] = {0, bias, add, bias | add, sumsA, sumsB};

dlc_library_call callOf(uint64_t m, uint64_t n, uint64_t k, uint32_t epilogue, unsigned transposes,
                        uint64_t batch = 1) {
  dlc_library_call call = {};
  call.op = DLC_CALL_PRODUCT;
  call.epilogue = epilogue;
  call.transpose_a = transposes & 1;
  call.transpose_b = transposes >> 1;
  const uint64_t sizes[] = {batch, m, n, k, m * k, k * n, m * n};
  std::copy(std::begin(sizes), std::end(sizes), call.sizes);
  const Status status = checkLibraryCall(call);
  EXPECT_TRUE(status.ok()) << status.message();
  return call;
}

/// A call's arguments: operands drawn by chance, results full of a byte.
std::vector<std::vector<std::byte>> makeArguments(const dlc_library_call &call, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> all;
  const dlc_dtype dtype = callDtype(call);
  for (const CallArgument &argument : callArguments(call)) {
    auto &bytes = all.emplace_back(argument.bytes, std::byte(0));
    for (uint64_t at = 0; at < argument.bytes && argument.access == DLC_READ;
         at += dtypeSize(dtype))
      storeElement(dtype, (int(random() % 2001) - 1000) / 1000.0, bytes.data() + at);
  }
  return all;
}

std::vector<void *> addressesOf(std::vector<std::vector<std::byte>> &arguments) {
  std::vector<void *> addresses;
  for (auto &argument : arguments)
    addresses.push_back(argument.data());
  return addresses;
}

/// Both round a sum that they compute in double once.
void expectEqual(const dlc_library_call &call, const std::vector<std::vector<std::byte>> &got,
                 const std::vector<std::vector<std::byte>> &want) {
  const std::vector<CallArgument> arguments = callArguments(call);
  const dlc_dtype dtype = callDtype(call);
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t at = 0; at < got[i].size() && arguments[i].access == DLC_WRITE;
         at += dtypeSize(dtype))
      ASSERT_NEAR(loadElement(dtype, got[i].data() + at), loadElement(dtype, want[i].data() + at),
                  1e-5)
          << arguments[i].name << ", byte " << at;
}

void checkProduct(const dlc_library_call &call) {
  auto plan = ProductPlan::build(fakeCublasLt(), nullptr, call);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  // Twice: nothing of the first run's addresses stays.
  for (unsigned seed : {1, 2}) {
    auto got = makeArguments(call, seed), want = got;
    Status ran = (*plan)->run(nullptr, nullptr, addressesOf(got).data());
    ASSERT_TRUE(ran.ok()) << ran.message();
    ThreadPool pool(1);
    runLibraryCall(call, addressesOf(want).data(), pool);
    expectEqual(call, got, want);
  }
}

// With each transposition.
TEST(Product, Epilogues) {
  for (uint32_t epilogue : epilogues)
    for (unsigned transposes = 0; transposes < 4; ++transposes) {
      SCOPED_TRACE(concat("epilogue ", epilogue, ", transposes ", transposes));
      checkProduct(callOf(5, 13, 7, epilogue, transposes));
    }
}

// TF32 is asked for by the plan; the fake knows its name, and computes in double either way.
TEST(Product, TensorCores) {
  dlc_library_call call = callOf(5, 13, 7, bias, 0);
  call.math = DLC_MATH_TF32;
  EXPECT_TRUE(ProductPlan::build(fakeCublasLt(), nullptr, call).ok());
}

// The fake rounds the same sums once.
TEST(Product, SixteenBits) {
  for (dlc_dtype dtype : {DLC_BF16, DLC_F16})
    for (unsigned transposes = 0; transposes < 4; ++transposes) {
      dlc_library_call call = callOf(5, 13, 7, 0, transposes, 2);
      call.dtype = dtype;
      ASSERT_TRUE(checkLibraryCall(call).ok());
      EXPECT_EQ(callArguments(call)[0].bytes, 2u * 5 * 13 * sizeof(uint16_t));
      checkProduct(call);
    }
}

TEST(Product, Batches) {
  for (uint32_t epilogue : {0u, bias, add})
    checkProduct(callOf(4, 6, 5, epilogue, 2, 3));
}

// The addend may be the result: cuBLASLt's C is D then.
TEST(Product, AddsInPlace) {
  const dlc_library_call call = callOf(5, 9, 7, bias | add, 2);
  auto plan = ProductPlan::build(fakeCublasLt(), nullptr, call);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto apart = makeArguments(call, 1), together = apart;
  ASSERT_TRUE((*plan)->run(nullptr, nullptr, addressesOf(apart).data()).ok());
  std::vector<void *> addresses = addressesOf(together);
  addresses[0] = addresses[4];
  ASSERT_TRUE((*plan)->run(nullptr, nullptr, addresses.data()).ok());
  EXPECT_EQ(together[4], apart[0]);
}

TEST(Product, NoAlgorithm) {
  epiloguesWithoutAlgorithm = {CUBLASLT_EPILOGUE_BGRADB};
  auto plan = ProductPlan::build(fakeCublasLt(), nullptr, callOf(5, 8, 7, sumsA, 0));
  EXPECT_EQ(plan.status().message(), "cuBLASLt has no algorithm for a product of 5x8x7 with "
                                     "epilogue 64 in a workspace of 0 bytes");
  epiloguesWithoutAlgorithm.clear();
}

} // namespace
