// The wide model, entry by entry.
#include "test/lib/SmallModel/WideModel.h"

#include <algorithm>

namespace dlc::test {
namespace {

constexpr uint64_t batch = 8, classes = 4, features = 16;
constexpr uint32_t touch = wideModelFunction;

dlc_type blocked(dlc_type type) {
  type.layout.permuted = 1;
  type.layout.order[0] = 1;
  type.layout.order[1] = 0;
  type.layout.block_count = 1;
  type.layout.block_axis[0] = 1;
  type.layout.block_size[0] = 8;
  return type;
}

class Builder {
public:
  explicit Builder(dlc_target target) { plan.target = target; }

  PlanBuilder build() {
    addTexts();
    addVariables();
    addKernels();
    addTraining("accumulate_step", DLC_ENTRY_ACCUMULATE);
    addTraining("train_step", DLC_ENTRY_TRAIN);
    addSteps();
    addEvaluate();
    addInfer();
    addPrepare();
    return std::move(plan);
  }

private:
  bool onCuda() const { return plan.target == DLC_TARGET_CUDA; }

  void addTexts() {
    plan.header.model = plan.text("Wide");
    plan.header.documentation = plan.text("Something of everything.\nOn two lines.");
    plan.header.report = plan.text(
        R"({"target": "any", "entries": [{"name": "train_step",)"
        R"( "sums": [{"layer": "linear1", "flops": 12, "bytes": 256}],)"
        R"( "layers": [{"name": "linear1", "shape": [8, 4], "parts": [{"name": "touch"}]}]}],)"
        R"( "schedules": [{"name": "touch", "choice": "only one"}]})");
    plan.settings.push_back({plan.text("epochs"), 1});
    plan.constants.resize(128, std::byte(1));
  }

  void addVariables() {
    const dlc_type matrix = PlanBuilder::type(DLC_F32, {classes, features}),
                   row = PlanBuilder::type(DLC_F32, {classes}),
                   scalar = PlanBuilder::type(DLC_I32, {});
    weight = plan.variable("weight", blocked(matrix), DLC_ROLE_PARAMETER, DLC_INIT_UNIFORM, -1, 1);
    bias = plan.variable("bias", row, DLC_ROLE_PARAMETER, DLC_INIT_NORMAL, 0, 1);
    plan.variable("weight.ema", blocked(matrix), DLC_ROLE_SLOT, DLC_INIT_COPY, 0, 0, weight);
    plan.variable("bias.velocity", row, DLC_ROLE_SLOT, DLC_INIT_CONSTANT, 0, 0, bias);
    plan.variable("mean", row, DLC_ROLE_STATISTIC, DLC_INIT_TRUNCATED_NORMAL, 0, 1);
    plan.variable("hidden", matrix, DLC_ROLE_STATE, DLC_INIT_ORTHOGONAL, 1, 0);
    plan.variable("applied", scalar, DLC_ROLE_COUNTER, DLC_INIT_CONSTANT, 0, 0);
    plan.variable("seen", PlanBuilder::type(DLC_F64, {2}), DLC_ROLE_METRIC, DLC_INIT_CONSTANT, 1,
                  0);
    derived = plan.variable("weight.half", PlanBuilder::type(DLC_BF16, {classes, features}),
                            DLC_ROLE_DERIVED, DLC_INIT_CONSTANT, 0, 0);
    rate = plan.scalar("optimizer.learning_rate", 0.1);
    plan.scalars[rate].scheduled = 1;
    plan.scalar("step", 0);
  }

  void addKernels() {
    if (onCuda()) {
      plan.imageBytes.resize(192);
      plan.images.push_back({DLC_IMAGE_CUBIN, 90, 0, 64, 32, 0, 0, 0});
      plan.images.push_back({DLC_IMAGE_PTX, 80, 128, 64, 0, 0, 0, 0});
    }
    forward = plan.kernel("forward", touch, 5, 2, 256);
    update = plan.kernel("update", touch, 3, 0);
    plan.kernels[forward].images = {0, onCuda() ? 1u : 0u};
    plan.kernels[update].images = {onCuda() ? 1u : 0u, onCuda() ? 1u : 0u};
  }

  dlc_argument ofConstants(uint64_t offset, uint64_t bytes) const {
    return {DLC_SPACE_CONSTANT, 0, offset, bytes, DLC_READ, 0};
  }

  /// y = x * weight^T + bias, where plans have such calls.
  void addLibraryCall(dlc_argument y, dlc_argument x) {
    dlc_library_call call = {};
    call.op = DLC_CALL_PRODUCT;
    call.epilogue = DLC_EPILOGUE_BIAS;
    call.transpose_b = 1;
    const uint64_t sizes[] = {1, batch, classes, features};
    std::copy(std::begin(sizes), std::end(sizes), call.sizes);
    call.engine = {static_cast<uint32_t>(plan.immediates.size()), 3};
    plan.immediates.insert(plan.immediates.end(), {5, 1, 2});
    plan.library("linear1/library", call,
                 {writing(y), x, plan.ofVariable(weight), plan.ofVariable(bias)});
  }

  /// Adds f32 sums and a count that are 0.75, and the metrics made of them.
  void addMetrics() {
    const dlc_type scalar = PlanBuilder::type(DLC_F32, {});
    uint32_t outputs[3];
    const std::string_view names[] = {"loss.sum", "accuracy.sum", "count"};
    for (int i = 0; i < 3; ++i) {
      const dlc_argument place = plan.arena(sizeof(float));
      plan.launch("loss/fill", 0, 0, {writing(place)}, {});
      plan.records.back().kind = DLC_RECORD_FILL;
      plan.records.back().value = 0x3f;
      outputs[i] = plan.output(names[i], scalar, DLC_VALUE_ACCUMULATOR, place);
    }
    plan.metric("loss", DLC_METRIC_LOSS, outputs[0], outputs[2]);
    plan.metric("accuracy", DLC_METRIC_METRIC, outputs[1], DLC_NONE);
    plan.metrics.back().finish = DLC_FINISH_EXP;
    plan.terms.back().constant_count = batch;
  }

  /// Forward pass and loss; returns where the result stands.
  dlc_argument addForward() {
    const uint32_t image = plan.input("image", PlanBuilder::type(DLC_F32, {batch, 1, 4, 4}));
    plan.input("label", PlanBuilder::type(DLC_I32, {batch}));
    const dlc_argument result = plan.arena(batch * classes * sizeof(float)),
                       copy = plan.arena(batch * classes * sizeof(float));
    plan.launch("linear1/forward", forward, batch,
                {plan.ofInput(image), plan.ofVariable(weight), plan.ofVariable(bias),
                 ofConstants(64, 64), writing(result)},
                {features, classes});
    if (onCuda())
      addLibraryCall(result, plan.ofInput(image));
    plan.launch("linear1/copy", 0, 0, {writing(copy), result}, {});
    plan.records.back().kind = DLC_RECORD_COPY;
    return copy;
  }

  void addTraining(std::string_view name, dlc_entry_kind kind) {
    plan.beginEntry(name, kind, batch);
    const dlc_argument result = addForward();
    plan.output("output", PlanBuilder::type(DLC_F32, {batch, classes}), DLC_VALUE_RESULT, result);
    addMetrics();
    const dlc_argument gradient = plan.arena(classes * sizeof(float));
    plan.output("gradient.bias", PlanBuilder::type(DLC_F32, {classes}), DLC_VALUE_GRADIENT,
                gradient, bias);
    plan.event(DLC_RECORD_RECORD_EVENT, 0);
    plan.stream = onCuda() ? 1 : 0;
    plan.event(DLC_RECORD_WAIT_EVENT, 0);
    plan.launch("bias/update", update, 2,
                {updating(plan.ofVariable(bias)), gradient, plan.ofScalar(rate)}, {});
    plan.stream = 0;
    plan.endEntry();
  }

  void addSteps() {
    plan.schedule = {{DLC_SCHEDULE_WARMUP, 1, 0.5, 0.5, 0.1, 0, 0, {}},
                     {DLC_SCHEDULE_COSINE_RESTARTS, 0, 100, 10, 0.1, 2, 0, {}},
                     {DLC_SCHEDULE_PLATEAU, 1, 1, 0, 0.5, 3, 1, plan.text("accuracy")}};
    plan.steps = {{0, 1, {0, 0}}, {1, 1, {0, 3}}};
  }

  void addEvaluate() {
    plan.beginEntry("evaluate", DLC_ENTRY_EVALUATE, batch);
    addForward();
    const uint32_t valid = plan.input("valid", PlanBuilder::type(DLC_I32, {}), DLC_NONE);
    plan.entries.back().valid_input = valid;
    addMetrics();
    plan.endEntry();
  }

  void addInfer() {
    plan.beginEntry("infer_n8", DLC_ENTRY_INFER, batch);
    const uint32_t image =
        plan.input("image", blocked(PlanBuilder::type(DLC_F32, {batch, features})));
    const dlc_argument result = plan.arena(batch * classes * sizeof(float));
    plan.launch("linear1/forward", forward, batch,
                {plan.ofInput(image), plan.ofVariable(weight), plan.ofVariable(bias),
                 ofConstants(0, 64), writing(result)},
                {features, classes});
    const dlc_argument scores = plan.arena(batch * classes * 2 * sizeof(float));
    plan.launch("scores/fill", 0, 0, {writing(scores)}, {});
    plan.records.back().kind = DLC_RECORD_FILL;
    plan.output("output", blocked(PlanBuilder::type(DLC_F32, {batch, classes * 2})),
                DLC_VALUE_RESULT, scores);
    plan.output("image", blocked(PlanBuilder::type(DLC_F32, {batch, features})), DLC_VALUE_RESULT,
                plan.ofInput(image));
    plan.output("bias", PlanBuilder::type(DLC_F32, {classes}), DLC_VALUE_RESULT,
                plan.ofVariable(bias));
    plan.values.back().batch_axis = DLC_NONE;
    plan.output("constants", PlanBuilder::type(DLC_F32, {16}), DLC_VALUE_RESULT,
                ofConstants(64, 64));
    plan.values.back().batch_axis = DLC_NONE;
    plan.endEntry();
  }

  void addPrepare() {
    plan.beginEntry("prepare", DLC_ENTRY_PREPARE, 0);
    plan.launch("weight/half", update, 1,
                {plan.ofVariable(weight), writing(plan.ofVariable(derived)), plan.ofScalar(rate)},
                {});
    plan.endEntry();
  }

  PlanBuilder plan;
  uint32_t weight = 0, bias = 0, derived = 0, rate = 0, forward = 0, update = 0;
};

} // namespace

PlanBuilder wideModel(dlc_target target) { return Builder(target).build(); }

} // namespace dlc::test
