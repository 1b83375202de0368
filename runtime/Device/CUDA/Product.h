// A product of the plan as a cuBLASLt multiplication, prepared once.
//
// Row-major is column-major transposed: result^T (n x m) = op_b(B)^T op_a(A)^T, so cuBLASLt's first
// operand is B. Its bias then runs along the columns of the row-major result, as abi.h wants it,
// and its sums of A are those of our B.
//
// Threads: run by one at a time for a handle.
#ifndef DLC_RUNTIME_DEVICE_CUDA_PRODUCT_H
#define DLC_RUNTIME_DEVICE_CUDA_PRODUCT_H

#include "runtime/Core/LibraryCall.h"
#include "runtime/Device/CUDA/Libraries.h"

#include <memory>

namespace dlc::runtime {

class ProductPlan {
public:
  /// Fails with Unsupported if cuBLASLt has no algorithm for the call in the workspace that it has.
  static Result<std::unique_ptr<ProductPlan>> build(const CublasLt &blas, cublasLtHandle_t handle,
                                                    const dlc_library_call &call);
  ~ProductPlan();

  /// "4096 bytes of workspace".
  std::string choice() const;

  /// `arguments` are those of the record, in device memory.
  Status run(cublasLtHandle_t handle, cudaStream_t stream, void *const *arguments) const;

private:
  ProductPlan(const CublasLt &blas, const dlc_library_call &call) : blas(blas), call(call) {}
  Status describe();
  Status describeMatrix(cublasLtMatrixLayout_t &layout, uint64_t rows, uint64_t columns,
                        uint64_t batchStride);
  Status chooseAlgorithm(cublasLtHandle_t handle);
  Status check(cublasStatus_t status, std::string_view what) const;

  const CublasLt &blas;
  dlc_library_call call;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  /// Of the algorithm.
  size_t workspaceBytes = 0;
};

} // namespace dlc::runtime

#endif
