// A library call of a plan with its sizes by name, and what its arguments must be. One reading of
// dlc_library_call for the loader's checks, the SIMT device's reference code and CUDA.
#ifndef DLC_RUNTIME_CORE_LIBRARYCALL_H
#define DLC_RUNTIME_CORE_LIBRARYCALL_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <span>
#include <vector>

namespace dlc::runtime {

/// result[b, m, n] = sum over k of A[b, m, k] B[b, k, n]; strides in elements.
struct ProductSizes {
  uint64_t batch, m, n, k, strideA, strideB, strideResult;
};

/// One spatial axis of a convolution.
struct AxisSizes {
  uint64_t input, filter, output, stride, below, above, dilation;
};

struct ConvolutionSizes {
  uint64_t batch, groups, inputs, outputs;
  std::span<const AxisSizes> axes;
};

ProductSizes productSizes(const dlc_library_call &call);
/// The axes view `call`.
ConvolutionSizes convolutionSizes(const dlc_library_call &call);

/// Rows and columns of the result: its last axis, and all others as one.
struct ResultShape {
  uint64_t rows, columns;
};
ResultShape resultShape(const dlc_library_call &call);

/// Of all its tensors but the workspace.
dlc_dtype callDtype(const dlc_library_call &call);

/// Whether the call has one of the epilogues that only single products have: sums of an operand.
bool isGradientEpilogue(const dlc_library_call &call);

/// What one argument must be: at least so many bytes, and what the call does with it.
struct CallArgument {
  std::string_view name;
  uint64_t bytes;
  uint32_t access;
};

/// Refuses an op, epilogue or sizes that are unknown or contradict each other. What the other
/// functions here say holds for calls that passed.
Status checkLibraryCall(const dlc_library_call &call);

/// In the order of the record's arguments.
std::vector<CallArgument> callArguments(const dlc_library_call &call);

} // namespace dlc::runtime

#endif
