// Reading and checking library calls.
#include "runtime/Core/LibraryCall.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

/// In dlc_library_call.sizes a convolution's axes follow its five first sizes.
static constexpr size_t firstAxis = 5;

static constexpr uint32_t forwardSteps = DLC_EPILOGUE_BIAS | DLC_EPILOGUE_ADD;

ProductSizes productSizes(const dlc_library_call &call) {
  const uint64_t *s = call.sizes;
  return {s[0], s[1], s[2], s[3], s[4], s[5], s[6]};
}

ConvolutionSizes convolutionSizes(const dlc_library_call &call) {
  const uint64_t *s = call.sizes;
  const auto *axes = reinterpret_cast<const AxisSizes *>(s + firstAxis);
  return {s[1], s[2], s[3], s[4], {axes, s[0]}};
}

/// Product of extents that are all positive and together below 2^50, or 0 if they are not: no sum
/// or product of a few of them overflows.
static uint64_t boundedProduct(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (uint64_t factor : factors)
    if (factor == 0 || __builtin_mul_overflow(product, factor, &product) || product >> 50)
      return 0;
  return product;
}

dlc_dtype callDtype(const dlc_library_call &call) {
  return call.dtype == 0 ? DLC_F32 : static_cast<dlc_dtype>(call.dtype);
}

bool isGradientEpilogue(const dlc_library_call &call) {
  return call.op == DLC_CALL_PRODUCT &&
         (call.epilogue == DLC_EPILOGUE_SUMS_A || call.epilogue == DLC_EPILOGUE_SUMS_B);
}

static Status checkProduct(const dlc_library_call &call) {
  const ProductSizes s = productSizes(call);
  if (!boundedProduct({s.batch, s.m, s.n}) || !boundedProduct({s.batch, s.m, s.k}) ||
      !boundedProduct({s.batch, s.k, s.n}))
    return damaged("a product of ", s.batch, " times ", s.m, "x", s.n, "x", s.k);
  if (call.transpose_a > 1 || call.transpose_b > 1)
    return damaged("transposes by ", call.transpose_a, " and ", call.transpose_b);
  // Operands may be shared by all of a batch; results may not.
  if (s.batch > 1 &&
      ((s.strideA != 0 && s.strideA < s.m * s.k) || (s.strideB != 0 && s.strideB < s.k * s.n) ||
       s.strideResult < s.m * s.n || !boundedProduct({s.batch, s.strideA + 1}) ||
       !boundedProduct({s.batch, s.strideB + 1}) || !boundedProduct({s.batch, s.strideResult})))
    return damaged("a product with batch strides ", s.strideA, ", ", s.strideB, ", ",
                   s.strideResult);
  if (s.batch > 1 && isGradientEpilogue(call))
    return damaged("a product of ", s.batch, " matrices with epilogue ", call.epilogue,
                   ", which is for one");
  if (s.batch > 1 && s.strideResult != s.m * s.n && call.epilogue != 0)
    return damaged("a batched product with an epilogue whose results are not contiguous");
  return {};
}

static Status checkAxis(const AxisSizes &axis) {
  if (!boundedProduct({axis.input, axis.stride}) || !boundedProduct({axis.filter, axis.dilation}) ||
      !boundedProduct({axis.output, axis.stride}) || axis.below >> 32 || axis.above >> 32)
    return damaged("an axis of ", axis.input, " with a filter of ", axis.filter);
  const uint64_t padded = axis.input + axis.below + axis.above,
                 reach = (axis.filter - 1) * axis.dilation + 1;
  if (padded < reach || axis.output != (padded - reach) / axis.stride + 1)
    return damaged("an axis of ", axis.input, " with a filter of ", axis.filter, " gives ",
                   axis.output);
  return {};
}

static Status checkConvolution(const dlc_library_call &call) {
  if (call.sizes[0] < 1 || call.sizes[0] > 3)
    return damaged("a convolution over ", call.sizes[0], " axes, expected 1 to 3");
  const ConvolutionSizes s = convolutionSizes(call);
  uint64_t input = boundedProduct({s.batch, s.inputs}),
           output = boundedProduct({s.batch, s.outputs}),
           filter = boundedProduct({s.inputs, s.outputs});
  if (s.groups == 0 || s.inputs % s.groups != 0 || s.outputs % s.groups != 0)
    return damaged("a convolution of ", s.inputs, " to ", s.outputs, " channels in ", s.groups,
                   " groups");
  for (const AxisSizes &axis : s.axes) {
    DLC_TRY(checkAxis(axis));
    input = boundedProduct({input, axis.input});
    output = boundedProduct({output, axis.output});
    filter = boundedProduct({filter, axis.filter});
  }
  if (!input || !output || !filter)
    return damaged("a convolution with too many elements");
  return {};
}

/// Elements of a convolution's image, result and filter.
struct ConvolutionElements {
  uint64_t input, output, filter;
};

static ConvolutionElements convolutionElements(const ConvolutionSizes &s) {
  ConvolutionElements e = {s.batch * s.inputs, s.batch * s.outputs,
                           s.outputs * (s.inputs / s.groups)};
  for (const AxisSizes &axis : s.axes) {
    e.input *= axis.input;
    e.output *= axis.output;
    e.filter *= axis.filter;
  }
  return e;
}

ResultShape resultShape(const dlc_library_call &call) {
  if (call.op == DLC_CALL_PRODUCT) {
    const ProductSizes s = productSizes(call);
    return {s.batch * s.m, s.n};
  }
  const ConvolutionSizes s = convolutionSizes(call);
  const ConvolutionElements e = convolutionElements(s);
  if (call.op == DLC_CALL_CONVOLUTION)
    return {e.output / s.outputs, s.outputs};
  if (call.op == DLC_CALL_BACKWARD_DATA)
    return {e.input / s.inputs, s.inputs};
  return {e.filter / (s.inputs / s.groups), s.inputs / s.groups};
}

Status checkLibraryCall(const dlc_library_call &call) {
  if (call.op < DLC_CALL_PRODUCT || call.op > DLC_CALL_BACKWARD_FILTER)
    return damaged("op ", call.op, " is unknown");
  if ((call.epilogue & ~forwardSteps) && !isGradientEpilogue(call))
    return damaged("epilogue ", call.epilogue, " is none that a ", libraryOpName(call.op), " has");
  if (call.layout > (call.op == DLC_CALL_PRODUCT ? 0u : uint32_t(DLC_CALL_CHANNELS_FIRST)))
    return damaged("layout ", call.layout, " is none that a ", libraryOpName(call.op), " has");
  const dlc_dtype dtype = callDtype(call);
  if (dtype != DLC_F32 && dtype != DLC_BF16 && dtype != DLC_F16)
    return damaged("dtype ", call.dtype, " is none that a library call has");
  if (call.math > (dtype == DLC_F32 ? uint32_t(DLC_MATH_TF32) : 0u))
    return damaged("math ", call.math, " is none that a ", libraryOpName(call.op), " of ",
                   dtypeName(dtype), " has");
  if (call.epilogue != 0 && dtype != DLC_F32)
    return damaged("epilogue ", call.epilogue, " is none that a ", libraryOpName(call.op), " of ",
                   dtypeName(dtype), " has");
  if (call.workspace_bytes >> 50)
    return damaged("a workspace of ", call.workspace_bytes, " bytes");
  DLC_TRY(call.op == DLC_CALL_PRODUCT ? checkProduct(call) : checkConvolution(call));
  if (resultShape(call).rows >> 32)
    return damaged("a result of ", resultShape(call).rows, " rows");
  return {};
}

static void addOperands(const dlc_library_call &call, std::vector<CallArgument> &arguments) {
  auto add = [&](std::string_view name, uint64_t elements, uint32_t access) {
    arguments.push_back({name, elements * dtypeSize(callDtype(call)), access});
  };
  if (call.op == DLC_CALL_PRODUCT) {
    const ProductSizes s = productSizes(call);
    const uint64_t last = s.batch - 1;
    add("result", last * s.strideResult + s.m * s.n, DLC_WRITE);
    add("a", last * s.strideA + s.m * s.k, DLC_READ);
    add("b", last * s.strideB + s.k * s.n, DLC_READ);
    return;
  }
  const ConvolutionElements e = convolutionElements(convolutionSizes(call));
  switch (call.op) {
  case DLC_CALL_CONVOLUTION:
    add("y", e.output, DLC_WRITE);
    add("x", e.input, DLC_READ);
    return add("w", e.filter, DLC_READ);
  case DLC_CALL_BACKWARD_DATA:
    add("dx", e.input, DLC_WRITE);
    add("dy", e.output, DLC_READ);
    return add("w", e.filter, DLC_READ);
  default:
    add("dw", e.filter, DLC_WRITE);
    add("dy", e.output, DLC_READ);
    return add("x", e.input, DLC_READ);
  }
}

std::vector<CallArgument> callArguments(const dlc_library_call &call) {
  std::vector<CallArgument> arguments;
  addOperands(call, arguments);
  const ResultShape shape = resultShape(call);
  const uint64_t row = shape.columns * dtypeSize(callDtype(call));
  if (call.epilogue & DLC_EPILOGUE_BIAS)
    arguments.push_back({"bias", row, DLC_READ});
  if (call.epilogue & DLC_EPILOGUE_ADD)
    arguments.push_back({"addend", shape.rows * row, DLC_READ});
  // The rest is of products only.
  if (call.epilogue & DLC_EPILOGUE_SUMS_A)
    arguments.push_back({"sums of a", productSizes(call).m * sizeof(float), DLC_WRITE});
  if (call.epilogue & DLC_EPILOGUE_SUMS_B)
    arguments.push_back({"sums of b", row, DLC_WRITE});
  if (call.workspace_bytes != 0)
    arguments.push_back({"workspace", call.workspace_bytes, DLC_WRITE});
  return arguments;
}

} // namespace dlc::runtime
