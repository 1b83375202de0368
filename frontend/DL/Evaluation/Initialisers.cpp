// See Initialisers.h. The formulas are those of torch.nn.init.
#include "frontend/DL/Evaluation/Initialisers.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

namespace dlc::frontend {

Value defaultInitialiser(int64_t fanIn) {
  static const Builtin *uniform = findBuiltin("uniform");
  double bound = fanIn > 0 ? 1 / std::sqrt(double(fanIn)) : 0;
  return Plan(std::make_shared<const PlanValue>(PlanValue{uniform, {-bound, bound}, {{}, {}}, {}}));
}

Value normalInitialiser(double mean, double deviation) {
  static const Builtin *normal = findBuiltin("normal");
  return Plan(
      std::make_shared<const PlanValue>(PlanValue{normal, {mean, deviation}, {{}, {}}, {}}));
}

/// sqrt(gain^2 / fan) of the kaiming family.
static double kaimingDeviation(const PlanValue &plan, int64_t fanIn, int64_t fanOut) {
  double slope = plan.number("slope"), gain = std::sqrt(2 / (1 + slope * slope));
  bool useOut = plan.get("mode").as<std::string>() == "fan_out";
  return gain / std::sqrt(double(std::max<int64_t>(1, useOut ? fanOut : fanIn)));
}

static double xavierDeviation(const PlanValue &plan, int64_t fanIn, int64_t fanOut) {
  return plan.number("gain") * std::sqrt(2.0 / double(std::max<int64_t>(1, fanIn + fanOut)));
}

program::InitialiserAttr resolveInitialiser(Evaluator &evaluator, const Value &init, int64_t fanIn,
                                            int64_t fanOut, SourceRange range) {
  mlir::MLIRContext *context = &evaluator.program.context;
  auto make = [&](program::InitialiserKind kind, double a, double b = 0) {
    return program::InitialiserAttr::get(context, kind, a, b);
  };
  if (init.isNumber())
    return make(program::InitialiserKind::Constant, init.number());
  const Plan *value = init.getIf<Plan>();
  if (!value || (*value)->maker->category != Category::Initialiser) {
    evaluator
        .error(range,
               "an initialiser is a number or such as normal(0, 0.02), found " + describe(init))
        .hint(hintForPlan(init, Category::Initialiser));
    return {};
  }
  const PlanValue &plan = **value;
  llvm::StringRef name = plan.maker->name;
  if (name == "uniform")
    return make(program::InitialiserKind::Uniform, plan.number("low"), plan.number("high"));
  if (name == "normal")
    return make(program::InitialiserKind::Normal, plan.number("mean"), plan.number("std"));
  if (name == "truncated_normal")
    return make(program::InitialiserKind::TruncatedNormal, plan.number("mean"), plan.number("std"));
  if (name == "orthogonal")
    return make(program::InitialiserKind::Orthogonal, plan.number("gain"));
  bool xavier = name.starts_with("xavier"), uniform = name.ends_with("uniform");
  double deviation =
      xavier ? xavierDeviation(plan, fanIn, fanOut) : kaimingDeviation(plan, fanIn, fanOut);
  if (!uniform)
    return make(program::InitialiserKind::Normal, 0, deviation);
  return make(program::InitialiserKind::Uniform, -std::sqrt(3.0) * deviation,
              std::sqrt(3.0) * deviation);
}

} // namespace dlc::frontend
