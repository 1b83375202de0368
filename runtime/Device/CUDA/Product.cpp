// Describing, choosing and running products.
#include "runtime/Device/CUDA/Product.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

/// cuBLASLt's name of an epilogue; an addend is no part of it. What our A is to us, B is to
/// cuBLASLt.
static cublasLtEpilogue_t epilogueOf(const dlc_library_call &call) {
  switch (call.epilogue & ~uint32_t(DLC_EPILOGUE_ADD)) {
  case DLC_EPILOGUE_BIAS:
    return CUBLASLT_EPILOGUE_BIAS;
  case DLC_EPILOGUE_SUMS_A:
    return CUBLASLT_EPILOGUE_BGRADB;
  case DLC_EPILOGUE_SUMS_B:
    return CUBLASLT_EPILOGUE_BGRADA;
  default: // checkLibraryCall has let no other through.
    return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

static cudaDataType_t typeOf(const dlc_library_call &call) {
  const dlc_dtype dtype = callDtype(call);
  return dtype == DLC_F32 ? CUDA_R_32F : dtype == DLC_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

/// Epilogues with a vector along the columns or rows of the result: cuBLASLt's bias or its
/// gradient.
static constexpr uint32_t vectorSteps =
    DLC_EPILOGUE_BIAS | DLC_EPILOGUE_SUMS_A | DLC_EPILOGUE_SUMS_B;

Status ProductPlan::check(cublasStatus_t status, std::string_view what) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return unsupported("cuBLASLt cannot ", what, ": ", blas.statusText(status));
}

ProductPlan::~ProductPlan() {
  for (cublasLtMatrixLayout_t layout : {first, second, result})
    if (layout)
      blas.layoutDestroy(layout);
  if (description)
    blas.descriptionDestroy(description);
}

Status ProductPlan::describeMatrix(cublasLtMatrixLayout_t &layout, uint64_t rows, uint64_t columns,
                                   uint64_t batchStride) {
  DLC_TRY(check(blas.layoutCreate(&layout, typeOf(call), rows, columns, static_cast<int64_t>(rows)),
                "describe a matrix"));
  const auto batch = static_cast<int32_t>(productSizes(call).batch);
  const auto stride = static_cast<int64_t>(batchStride);
  DLC_TRY(check(blas.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
                "set a batch"));
  return check(
      blas.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
      "set a batch stride");
}

Status ProductPlan::describe() {
  const ProductSizes s = productSizes(call);
  const cublasComputeType_t compute =
      call.math == DLC_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  DLC_TRY(check(blas.descriptionCreate(&description, compute, CUDA_R_32F), "describe a product"));
  auto set = [&](cublasLtMatmulDescAttributes_t name, const auto &value) {
    return check(blas.descriptionSet(description, name, &value, sizeof(value)), "set an attribute");
  };
  const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T};
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, operations[call.transpose_b]));
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, operations[call.transpose_a]));
  DLC_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(call)));
  // The choice of an algorithm reads off these addresses how far they are aligned; run() gives
  // them.
  const uintptr_t somewhere = DLC_ALIGNMENT;
  if (call.epilogue & vectorSteps)
    DLC_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, somewhere));
  DLC_TRY(call.transpose_b ? describeMatrix(first, s.k, s.n, s.strideB)
                           : describeMatrix(first, s.n, s.k, s.strideB));
  DLC_TRY(call.transpose_a ? describeMatrix(second, s.m, s.k, s.strideA)
                           : describeMatrix(second, s.k, s.m, s.strideA));
  return describeMatrix(result, s.n, s.m, s.strideResult);
}

Status ProductPlan::chooseAlgorithm(cublasLtHandle_t handle) {
  cublasLtMatmulPreference_t preference = nullptr;
  DLC_TRY(check(blas.preferenceCreate(&preference), "make preferences"));
  auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto &value) {
    return check(blas.preferenceSet(preference, name, &value, sizeof(value)), "set a preference");
  };
  // Partial sums are added where chance does not choose the order, and never rounded to 16 bits.
  const uint32_t reductions =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
      (callDtype(call) == DLC_F32 ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE : 0);
  const uint32_t alignment = DLC_ALIGNMENT;
  const uint64_t workspace = LibraryWorkspace::usableBytes(call);
  Status status = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  for (auto [name, value] : {std::pair{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions},
                             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment},
                             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment},
                             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment},
                             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment}})
    if (status.ok())
      status = set(name, value);
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  if (status.ok())
    status = check(blas.heuristic(handle, description, first, second, result, result, preference, 1,
                                  &found, &count),
                   "choose an algorithm");
  blas.preferenceDestroy(preference);
  DLC_TRY(std::move(status));
  if (count == 0) {
    const ProductSizes s = productSizes(call);
    return unsupported("cuBLASLt has no algorithm for a product of ", s.m, "x", s.n, "x", s.k,
                       " with epilogue ", call.epilogue, " in a workspace of ", workspace,
                       " bytes");
  }
  algorithm = found.algo;
  workspaceBytes = found.workspaceSize;
  return {};
}

Result<std::unique_ptr<ProductPlan>>
ProductPlan::build(const CublasLt &blas, cublasLtHandle_t handle, const dlc_library_call &call) {
  std::unique_ptr<ProductPlan> plan(new ProductPlan(blas, call));
  DLC_TRY(plan->describe());
  DLC_TRY(plan->chooseAlgorithm(handle));
  return plan;
}

std::string ProductPlan::choice() const { return concat(workspaceBytes, " bytes of workspace"); }

Status ProductPlan::run(cublasLtHandle_t handle, cudaStream_t stream,
                        void *const *arguments) const {
  void *const *next = arguments + 3;
  if (call.epilogue & vectorSteps) {
    const void *address = *next++;
    DLC_TRY(check(blas.descriptionSet(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address,
                                      sizeof(address)),
                  "take an operand of an epilogue"));
  }
  const bool adds = call.epilogue & DLC_EPILOGUE_ADD;
  const void *addend = adds ? *next++ : arguments[0];
  const uint64_t bytes = LibraryWorkspace::usableBytes(call);
  void *workspace = bytes ? LibraryWorkspace::alignedStart(*next) : nullptr;
  const float alpha = 1, beta = adds ? 1 : 0;
  return check(blas.matmul(handle, description, &alpha, arguments[2], first, arguments[1], second,
                           &beta, addend, result, arguments[0], result, &algorithm, workspace,
                           bytes, stream),
               "run a product");
}

} // namespace dlc::runtime
