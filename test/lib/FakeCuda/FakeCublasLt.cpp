// The fake's calls. What cuBLASLt refuses, it refuses: a missing pointer.
#include "test/lib/FakeCuda/FakeCublasLt.h"
#include "runtime/Core/Initialise.h"
#include "test/lib/FakeCuda/FakeCuda.h"

#include <cstring>
#include <vector>

using namespace dlc::runtime;
using namespace dlc::test;

std::set<cublasLtEpilogue_t> dlc::test::epiloguesWithoutAlgorithm;

namespace {

struct Description {
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr;
};

struct Matrix {
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  dlc_dtype dtype = DLC_F32;
  int64_t stride = 0;
  int32_t batch = 1;

  double load(const void *elements, uint64_t at) const {
    return loadElement(dtype, static_cast<const std::byte *>(elements) + at * dtypeSize(dtype));
  }
  uint64_t place(uint64_t row, uint64_t column, int32_t number) const {
    return row + column * static_cast<uint64_t>(ld) + static_cast<uint64_t>(number * stride);
  }
};

template <typename To, typename From> To &of(From handle) {
  return *reinterpret_cast<To *>(handle);
}

template <typename Object, typename Handle> cublasStatus_t destroy(Handle handle) {
  delete &of<Object>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Field> cublasStatus_t setField(Field &field, const void *value, size_t bytes) {
  if (bytes != sizeof(field))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t createDescription(cublasLtMatmulDesc_t *made, cublasComputeType_t compute,
                                 cudaDataType_t scale) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  const bool known = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return known && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t setDescription(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t name,
                              const void *value, size_t bytes) {
  auto &d = of<Description>(handle);
  switch (name) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return setField(d.transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return setField(d.transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return setField(d.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return setField(d.bias, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t createLayout(cublasLtMatrixLayout_t *made, cudaDataType type, uint64_t rows,
                            uint64_t columns, int64_t ld) {
  const dlc_dtype dtype = type == CUDA_R_16BF ? DLC_BF16 : type == CUDA_R_16F ? DLC_F16 : DLC_F32;
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{rows, columns, ld, dtype});
  const bool known = type == CUDA_R_32F || dtype != DLC_F32;
  return known && ld >= static_cast<int64_t>(rows) ? CUBLAS_STATUS_SUCCESS
                                                   : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t setLayout(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t name,
                         const void *value, size_t bytes) {
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return setField(of<Matrix>(handle).batch, value, bytes);
  if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return setField(of<Matrix>(handle).stride, value, bytes);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t createPreference(cublasLtMatmulPreference_t *made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t setPreference(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                             const void *, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

/// Whether all that the epilogue needs is given.
bool isComplete(const Description &d) {
  constexpr uint32_t vectors =
      CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;
  return !(d.epilogue & vectors) || d.bias;
}

cublasStatus_t findAlgorithm(cublasLtHandle_t, cublasLtMatmulDesc_t handle, cublasLtMatrixLayout_t,
                             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                             cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *,
                             int *count) {
  const auto &d = of<Description>(handle);
  *count = !epiloguesWithoutAlgorithm.contains(static_cast<cublasLtEpilogue_t>(d.epilogue));
  return isComplete(d) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t handle, const void *alpha,
                        const void *a, cublasLtMatrixLayout_t layoutA, const void *b,
                        cublasLtMatrixLayout_t layoutB, const void *beta, const void *c,
                        cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t layoutD,
                        const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t stream) {
  const auto description = of<Description>(handle);
  const auto &A = of<Matrix>(layoutA), &B = of<Matrix>(layoutB), &D = of<Matrix>(layoutD);
  if (!isComplete(description))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool turnA = description.transA == CUBLAS_OP_T, turnB = description.transB == CUBLAS_OP_T;
  const uint64_t depth = turnA ? A.rows : A.columns;
  if ((turnA ? A.columns : A.rows) != D.rows || (turnB ? B.rows : B.columns) != D.columns ||
      (turnB ? B.columns : B.rows) != depth)
    return CUBLAS_STATUS_INVALID_VALUE;
  // What is behind pointers of the host's is read now, as cuBLASLt does.
  const float scale = *static_cast<const float *>(alpha),
              ofAddend = *static_cast<const float *>(beta);
  const auto compute = [=, A = A, B = B, D = D] {
    auto left = [&](uint64_t i, uint64_t k, int32_t n) {
      return A.load(a, turnA ? A.place(k, i, n) : A.place(i, k, n));
    };
    auto right = [&](uint64_t k, uint64_t j, int32_t n) {
      return B.load(b, turnB ? B.place(j, k, n) : B.place(k, j, n));
    };
    auto *vector = static_cast<float *>(description.bias);
    const auto epilogue = static_cast<cublasLtEpilogue_t>(description.epilogue);
    for (int32_t n = 0; n < D.batch; ++n)
      for (uint64_t j = 0; j < D.columns; ++j)
        for (uint64_t i = 0; i < D.rows; ++i) {
          double value = 0;
          for (uint64_t k = 0; k < depth; ++k)
            value += left(i, k, n) * right(k, j, n);
          value *= scale;
          if (ofAddend != 0)
            value += double(ofAddend) * D.load(c, D.place(i, j, n));
          if (epilogue == CUBLASLT_EPILOGUE_BIAS)
            value += vector[i];
          // As a sum of float32 is rounded.
          storeElement(D.dtype, static_cast<float>(value),
                       static_cast<std::byte *>(d) + D.place(i, j, n) * dtypeSize(D.dtype));
        }
    // "The bias size corresponds to the number of rows (B: columns) of the matrix D. The reduction
    // happens over the GEMM's k."
    if (epilogue == CUBLASLT_EPILOGUE_BGRADA || epilogue == CUBLASLT_EPILOGUE_BGRADB)
      for (uint64_t i = 0; i < (epilogue == CUBLASLT_EPILOGUE_BGRADA ? D.rows : D.columns); ++i) {
        double sum = 0;
        for (uint64_t k = 0; k < depth; ++k)
          sum += epilogue == CUBLASLT_EPILOGUE_BGRADA ? left(i, k, 0) : right(k, i, 0);
        vector[i] = static_cast<float>(sum);
      }
    return true;
  };
  if (stream)
    return issueFake(stream, compute) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  compute();
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

const dlc::runtime::CublasLt &dlc::test::fakeCublasLt() {
  static const dlc::runtime::CublasLt fake = {
      [] { return size_t(130000); },
      [](cublasLtHandle_t *) { return CUBLAS_STATUS_SUCCESS; },
      [](cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; },
      [](cublasStatus_t status) {
        return status == CUBLAS_STATUS_SUCCESS ? "success" : "the fake refuses";
      },
      multiply,
      findAlgorithm,
      createDescription,
      destroy<Description>,
      setDescription,
      createLayout,
      destroy<Matrix>,
      setLayout,
      createPreference,
      destroy<char>,
      setPreference};
  return fake;
}
