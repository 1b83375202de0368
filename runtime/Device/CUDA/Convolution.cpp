// Building and running cuDNN graphs.
#include "runtime/Device/CUDA/Convolution.h"
#include "runtime/Core/Support.h"

#include <array>
#include <bit>

namespace dlc::runtime {
namespace {

/// What cuDNN says about its last failure, on one line.
Status cudnnFailure(const Cudnn &cudnn, cudnnStatus_t status, std::string_view what) {
  char details[512] = {};
  cudnn.lastError(details, sizeof(details));
  for (char &c : details)
    if (c == '\n')
      c = ' ';
  return unsupported("cuDNN cannot ", what, ": ", cudnn.statusText(status),
                     details[0] ? concat(" (", details, ")") : "");
}

/// Sets attributes of one descriptor and finalises it; the first failure is what remains.
class DescriptorBuilder {
public:
  DescriptorBuilder(const Cudnn &cudnn, cudnnBackendDescriptorType_t type) : cudnn(cudnn) {
    cudnnBackendDescriptor_t created = nullptr;
    status = cudnn.descriptorCreate(type, &created);
    descriptor = CudnnDescriptor(cudnn, created);
  }

  DescriptorBuilder &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t count, const void *values) {
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnn.set(descriptor.get(), name, type, count, values);
    return *this;
  }
  DescriptorBuilder &set(cudnnBackendAttributeName_t name, const CudnnDescriptor &value) {
    cudnnBackendDescriptor_t raw = value.get();
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  }
  DescriptorBuilder &set(cudnnBackendAttributeName_t name, const std::vector<int64_t> &values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  DescriptorBuilder &set(cudnnBackendAttributeName_t name, int64_t value) {
    return set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  DescriptorBuilder &setType(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    return set(name, CUDNN_TYPE_DATA_TYPE, 1, &type);
  }
  DescriptorBuilder &setFloatType(cudnnBackendAttributeName_t name) {
    return setType(name, CUDNN_DATA_FLOAT);
  }

  Result<CudnnDescriptor> finalize(std::string_view what) {
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnn.finalize(descriptor.get());
    if (status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, what);
    return std::move(descriptor);
  }

private:
  const Cudnn &cudnn;
  CudnnDescriptor descriptor;
  cudnnStatus_t status;
};

/// The id of the tensor that is an argument of the record; ids are positive.
constexpr int64_t tensorId(int64_t argument) { return argument + 1; }

/// Builds the operation graph of a call. A tensor is known by the number of the argument that it
/// is; results of a step that another step takes are virtual.
class GraphBuilder {
public:
  GraphBuilder(const CudnnTarget &target, const dlc_library_call &call)
      : target(target), cudnn(*target.cudnn), call(call), sizes(convolutionSizes(call)) {
    // cuDNN knows two and three spatial axes: a single one gets a second of size one.
    if (sizes.axes.size() == 1)
      axes.push_back({1, 1, 1, 1, 0, 0, 1});
    axes.insert(axes.end(), sizes.axes.begin(), sizes.axes.end());
  }

  Result<CudnnDescriptor> build() {
    DLC_TRY(addConvolution());
    DLC_TRY(addEpilogue());
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const CudnnDescriptor &operation : operations)
      raw.push_back(operation.get());
    DescriptorBuilder graph(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<int64_t>(raw.size()), raw.data());
    // Heuristics ask the graph for the device where they are given no properties of one.
    if (target.handle)
      graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
    return graph.finalize("build the operation graph");
  }

private:
  static constexpr int64_t firstVirtual = 100;

  cudnnDataType_t storedType() const {
    const dlc_dtype dtype = callDtype(call);
    return dtype == DLC_F32    ? CUDNN_DATA_FLOAT
           : dtype == DLC_BF16 ? CUDNN_DATA_BFLOAT16
                               : CUDNN_DATA_HALF;
  }

  std::vector<int64_t> extents(uint64_t AxisSizes::*field) const {
    std::vector<int64_t> values;
    for (const AxisSizes &axis : axes)
      values.push_back(static_cast<int64_t>(axis.*field));
    return values;
  }

  /// A tensor [outer, channels, space...], in memory as the call says.
  Result<CudnnDescriptor> tensor(int64_t number, uint64_t outer, uint64_t channels,
                                 std::vector<int64_t> space) {
    std::vector<int64_t> shape = {static_cast<int64_t>(outer), static_cast<int64_t>(channels)};
    shape.insert(shape.end(), space.begin(), space.end());
    const bool channelsLast = call.layout == DLC_CALL_CHANNELS_LAST;
    std::vector<int64_t> strides(shape.size());
    strides[1] = 1;
    int64_t stride = channelsLast ? shape[1] : 1;
    for (size_t axis = shape.size() - 1; axis >= 2; --axis) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    if (!channelsLast) {
      strides[1] = stride;
      stride *= shape[1];
    }
    strides[0] = stride;
    const bool isVirtual = number >= firstVirtual;
    return DescriptorBuilder(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        .setType(CUDNN_ATTR_TENSOR_DATA_TYPE, storedType())
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensorId(number))
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16)
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &isVirtual)
        .finalize("describe a tensor");
  }
  Result<CudnnDescriptor> image(int64_t number) {
    return tensor(number, sizes.batch, sizes.inputs, extents(&AxisSizes::input));
  }
  Result<CudnnDescriptor> output(int64_t number) {
    return tensor(number, sizes.batch, sizes.outputs, extents(&AxisSizes::output));
  }
  Result<CudnnDescriptor> filter(int64_t number) {
    return tensor(number, sizes.outputs, sizes.inputs / sizes.groups, extents(&AxisSizes::filter));
  }
  /// A tensor of the result's shape.
  Result<CudnnDescriptor> likeResult(int64_t number) {
    return call.op == DLC_CALL_CONVOLUTION     ? output(number)
           : call.op == DLC_CALL_BACKWARD_DATA ? image(number)
                                               : filter(number);
  }

  /// Number of what the next step gives: the result itself if it is the last one.
  int64_t nextResult() {
    const int64_t steps = std::popcount(call.epilogue);
    return done == steps ? 0 : firstVirtual + done++;
  }

  Status addConvolution() {
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    DLC_TRY_ASSIGN(convolution,
                   DescriptorBuilder(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
                       .setFloatType(CUDNN_ATTR_CONVOLUTION_COMP_TYPE)
                       .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
                       .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(axes.size()))
                       .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, extents(&AxisSizes::below))
                       .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, extents(&AxisSizes::above))
                       .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, extents(&AxisSizes::dilation))
                       .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, extents(&AxisSizes::stride))
                       .finalize("describe the convolution"));
    DLC_TRY_ASSIGN(first, likeResult(nextResult()));
    result = std::move(first);
    const float one = 1, zero = 0;
    switch (call.op) {
    case DLC_CALL_CONVOLUTION: {
      DLC_TRY_ASSIGN(x, image(1));
      DLC_TRY_ASSIGN(w, filter(2));
      return add(
          DescriptorBuilder(cudnn, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, result)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero));
    }
    case DLC_CALL_BACKWARD_DATA: {
      DLC_TRY_ASSIGN(dy, output(1));
      DLC_TRY_ASSIGN(w, filter(2));
      return add(
          DescriptorBuilder(cudnn, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, result)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, &zero));
    }
    default: {
      DLC_TRY_ASSIGN(dy, output(1));
      DLC_TRY_ASSIGN(x, image(2));
      return add(
          DescriptorBuilder(cudnn, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, result)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, convolution)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
              .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, &zero));
    }
    }
  }

  Status addEpilogue() {
    const int64_t argument = 3;
    const uint64_t channels = resultShape(call).columns;
    // The addend before the bias: the order in which cuDNN's fused engines know them. The arguments
    // stand in the order of the bits.
    const bool biased = call.epilogue & DLC_EPILOGUE_BIAS, added = call.epilogue & DLC_EPILOGUE_ADD;
    if (added) {
      DLC_TRY_ASSIGN(addend, likeResult(argument + biased));
      DLC_TRY(addSum(addend));
    }
    if (biased) {
      DLC_TRY_ASSIGN(bias, tensor(argument, 1, channels, std::vector<int64_t>(axes.size(), 1)));
      DLC_TRY(addSum(bias));
    }
    return {};
  }

  /// Adds an operand to what is the result so far.
  Status addSum(const CudnnDescriptor &operand) {
    const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    DLC_TRY_ASSIGN(pointwise,
                   DescriptorBuilder(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
                       .set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
                       .setFloatType(CUDNN_ATTR_POINTWISE_MATH_PREC)
                       .finalize("describe an epilogue"));
    DLC_TRY_ASSIGN(next, likeResult(nextResult()));
    DescriptorBuilder operation(cudnn, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, result)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, operand)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, next);
    DLC_TRY(add(operation));
    result = std::move(next);
    return {};
  }

  Status add(DescriptorBuilder &operation) {
    DLC_TRY_ASSIGN(made, operation.finalize("describe an operation"));
    operations.push_back(std::move(made));
    return {};
  }

  const CudnnTarget &target;
  const Cudnn &cudnn;
  const dlc_library_call &call;
  ConvolutionSizes sizes;
  std::vector<AxisSizes> axes;
  std::vector<CudnnDescriptor> operations;
  CudnnDescriptor result;
  /// Steps that gave a virtual tensor.
  int64_t done = 0;
};

/// A plan, and what it is made of.
struct BuiltPlan {
  CudnnDescriptor plan;
  ChosenEngine engine;
};

/// Chooses an engine for a graph and makes the plan.
class PlanBuilder {
public:
  PlanBuilder(const CudnnTarget &target, const dlc_library_call &call, const CudnnDescriptor &graph)
      : target(target), cudnn(*target.cudnn), call(call), graph(graph) {}

  Result<BuiltPlan> fromEngine(std::span<const uint64_t> stored) {
    DLC_TRY_ASSIGN(engine, withDevice(DescriptorBuilder(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
                                          .set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
                                          .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, int64_t(stored[0])),
                                      CUDNN_ATTR_ENGINE_DEVICEPROP)
                               .finalize(concat("use engine ", stored[0])));
    std::vector<CudnnDescriptor> choices;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (size_t i = 1; i + 1 < stored.size(); i += 2) {
      const auto knob = static_cast<cudnnBackendKnobType_t>(stored[i]);
      DLC_TRY_ASSIGN(choice,
                     DescriptorBuilder(cudnn, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
                         .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob)
                         .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, int64_t(stored[i + 1]))
                         .finalize("set a knob"));
      raw.push_back(choice.get());
      choices.push_back(std::move(choice));
    }
    DescriptorBuilder config(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (!raw.empty())
      config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 int64_t(raw.size()), raw.data());
    DLC_TRY_ASSIGN(configured, config.finalize("configure an engine"));
    return fromConfig(configured, {stored.begin(), stored.end()});
  }

  /// The first that fits of what cuDNN proposes, its best first.
  Result<BuiltPlan> fromHeuristics() {
    Status last = unsupported("cuDNN proposes no engine");
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      auto heuristic =
          withDevice(DescriptorBuilder(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
                         .set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
                         .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode),
                     CUDNN_ATTR_ENGINEHEUR_DEVICEPROP)
              .finalize("choose an engine");
      if (!heuristic.ok()) {
        last = heuristic.takeStatus();
        continue;
      }
      DLC_TRY_ASSIGN(proposals, proposalsOf(*heuristic));
      for (const CudnnDescriptor &proposal : proposals) {
        DLC_TRY_ASSIGN(engine, engineOf(proposal));
        auto plan = fromConfig(proposal, std::move(engine));
        if (plan.ok())
          return plan;
        last = plan.takeStatus();
      }
    }
    return last;
  }

private:
  /// Tells a descriptor which device it is for, if that is not a handle's.
  DescriptorBuilder &withDevice(DescriptorBuilder &builder, cudnnBackendAttributeName_t name) {
    return target.handle ? builder : builder.set(name, target.properties);
  }
  DescriptorBuilder &withDevice(DescriptorBuilder &&builder, cudnnBackendAttributeName_t name) {
    return withDevice(builder, name);
  }

  Result<std::vector<CudnnDescriptor>> descriptorsOf(const CudnnDescriptor &from,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type,
                                                     int64_t most) {
    std::vector<CudnnDescriptor> list;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < most; ++i) {
      cudnnBackendDescriptor_t one = nullptr;
      if (auto status = cudnn.descriptorCreate(type, &one); status != CUDNN_STATUS_SUCCESS)
        return cudnnFailure(cudnn, status, "make a descriptor");
      list.emplace_back(cudnn, one);
      raw.push_back(one);
    }
    int64_t count = 0;
    if (auto status =
            cudnn.get(from.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, raw.data());
        status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, "answer");
    list.resize(static_cast<size_t>(std::min(count, most)));
    return list;
  }

  Result<std::vector<CudnnDescriptor>> proposalsOf(const CudnnDescriptor &heuristic) {
    int64_t count = 0;
    if (auto status = cudnn.get(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
        status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, "list engines");
    return descriptorsOf(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                         CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
  }

  Result<int64_t> number(const CudnnDescriptor &from, cudnnBackendAttributeName_t name) {
    int64_t value = 0, count = 0;
    if (auto status = cudnn.get(from.get(), name, CUDNN_TYPE_INT64, 1, &count, &value);
        status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, "describe an engine");
    return value;
  }

  /// The engine of a configuration, and each knob with its value.
  Result<std::vector<uint64_t>> engineOf(const CudnnDescriptor &config) {
    DLC_TRY_ASSIGN(engines, descriptorsOf(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                          CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
    DLC_TRY_ASSIGN(index, number(engines[0], CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    DLC_TRY_ASSIGN(choices,
                   descriptorsOf(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS));
    std::vector<uint64_t> engine = {static_cast<uint64_t>(index)};
    for (const CudnnDescriptor &choice : choices) {
      cudnnBackendKnobType_t knob = CUDNN_KNOB_TYPE_COUNTS;
      int64_t count = 0;
      if (auto status = cudnn.get(choice.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                  CUDNN_TYPE_KNOB_TYPE, 1, &count, &knob);
          status != CUDNN_STATUS_SUCCESS)
        return cudnnFailure(cudnn, status, "describe a knob");
      DLC_TRY_ASSIGN(value, number(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
      engine.insert(engine.end(), {static_cast<uint64_t>(knob), static_cast<uint64_t>(value)});
    }
    return engine;
  }

  /// Refuses an engine that rounds more than the call allows, or whose results depend on chance.
  Status checkNotes(const CudnnDescriptor &config) {
    DLC_TRY_ASSIGN(engines, descriptorsOf(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                          CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
    int64_t count = 0;
    if (auto status = cudnn.get(engines[0].get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                CUDNN_TYPE_NUMERICAL_NOTE, notes.size(), &count, notes.data());
        status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, "describe an engine");
    for (int64_t i = 0; i < count; ++i)
      switch (notes[static_cast<size_t>(i)]) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: // of float32: TF32
        if (call.math == DLC_MATH_TF32 || callDtype(call) != DLC_F32)
          break;
        [[fallthrough]];
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: // to 16 bits
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return unsupported("cuDNN's engines all round to fewer bits than the call allows");
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return unsupported("cuDNN's engines all add in an order that changes");
      default:
        break;
      }
    return {};
  }

  Result<BuiltPlan> fromConfig(const CudnnDescriptor &config, std::vector<uint64_t> engine) {
    // The direct one of last resort, at 1 to 3 TFLOP/s; cuDNN proposes it before engines of use.
    if (engine[0] == 0)
      return unsupported("cuDNN's engines that fit are all slower than a kernel of dlc");
    DLC_TRY(checkNotes(config));
    DescriptorBuilder builder(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    builder.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (target.handle)
      builder.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
    else
      builder.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
    DLC_TRY_ASSIGN(plan, builder.finalize("build an execution plan"));
    int64_t workspace = 0, count = 0;
    if (auto status = cudnn.get(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                CUDNN_TYPE_INT64, 1, &count, &workspace);
        status != CUDNN_STATUS_SUCCESS)
      return cudnnFailure(cudnn, status, "size a workspace");
    if (static_cast<uint64_t>(workspace) > LibraryWorkspace::usableBytes(call))
      return unsupported("cuDNN needs a workspace of ", workspace, " bytes, the plan has ",
                         LibraryWorkspace::usableBytes(call));
    const uint64_t needed = LibraryWorkspace::neededBytes(static_cast<uint64_t>(workspace));
    return BuiltPlan{std::move(plan), {std::move(engine), needed}};
  }

  const CudnnTarget &target;
  const Cudnn &cudnn;
  const dlc_library_call &call;
  const CudnnDescriptor &graph;
};

} // namespace

Result<CudnnTarget> CudnnTarget::fromJson(const std::string &json) {
  DLC_TRY_ASSIGN(cudnn, Cudnn::load());
  DLC_TRY_ASSIGN(properties, DescriptorBuilder(*cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
                                 .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                      static_cast<int64_t>(json.size()), json.data())
                                 .finalize("read a device's properties"));
  return CudnnTarget{cudnn, nullptr, std::move(properties)};
}

Result<std::string> CudnnTarget::jsonOf(int32_t device) {
  DLC_TRY_ASSIGN(cudnn, Cudnn::load());
  DLC_TRY_ASSIGN(properties, DescriptorBuilder(*cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
                                 .set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &device)
                                 .finalize("read a device's properties"));
  std::string json(65536, '\0');
  int64_t count = 0;
  if (auto status = cudnn->get(properties.get(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                               CUDNN_TYPE_CHAR, int64_t(json.size()), &count, json.data());
      status != CUDNN_STATUS_SUCCESS)
    return cudnnFailure(*cudnn, status, "describe a device");
  return json.substr(0, json.find('\0'));
}

Result<std::unique_ptr<ConvolutionPlan>> ConvolutionPlan::build(const CudnnTarget &target,
                                                                const dlc_library_call &call,
                                                                std::span<const uint64_t> engine) {
  std::unique_ptr<ConvolutionPlan> made(new ConvolutionPlan(*target.cudnn, call));
  DLC_TRY_ASSIGN(graph, GraphBuilder(target, call).build());
  PlanBuilder builder(target, call, graph);
  // A stored engine is the compiler's choice for one version of cuDNN; another may not have it.
  if (!engine.empty())
    if (auto stored = builder.fromEngine(engine); stored.ok()) {
      made->plan = std::move(stored->plan);
      made->chosen = std::move(stored->engine);
      return made;
    }
  DLC_TRY_ASSIGN(built, builder.fromHeuristics());
  made->plan = std::move(built.plan);
  made->chosen = std::move(built.engine);
  return made;
}

std::string ConvolutionPlan::description() const {
  return concat("engine ", chosen.numbers[0], ", ", chosen.numbers.size() / 2, " knobs, ",
                chosen.workspaceBytes, " bytes of workspace");
}

Result<EngineChooser> ConvolutionPlan::openEngineChooser(const std::string &properties) {
  DLC_TRY_ASSIGN(read, CudnnTarget::fromJson(properties));
  auto target = std::make_shared<CudnnTarget>(std::move(read));
  return EngineChooser([target](const dlc_library_call &call) -> Result<ChosenEngine> {
    DLC_TRY_ASSIGN(plan, build(*target, call, {}));
    return plan->engine();
  });
}

Status ConvolutionPlan::execute(cudnnHandle_t handle, void *const *arguments) const {
  const size_t count = callArguments(call).size() - (call.workspace_bytes != 0);
  std::vector<int64_t> ids(count);
  for (size_t i = 0; i < count; ++i)
    ids[i] = tensorId(static_cast<int64_t>(i));
  void *workspace =
      call.workspace_bytes ? LibraryWorkspace::alignedStart(arguments[count]) : nullptr;
  DLC_TRY_ASSIGN(pack,
                 DescriptorBuilder(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
                     .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
                     .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                          static_cast<int64_t>(count), arguments)
                     .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
                     .finalize("take the arguments"));
  if (auto status = cudnn.execute(handle, plan.get(), pack.get()); status != CUDNN_STATUS_SUCCESS)
    return cudnnFailure(cudnn, status, "run a convolution");
  return {};
}

} // namespace dlc::runtime
