// Schedules: from calls kept as data to the parts that the trainer runs.
#include "frontend/DL/Sections/Sections.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

namespace {
/// Turns the calls of one schedule into parts.
class ScheduleReader {
public:
  ScheduleReader(Evaluator &evaluator, llvm::ArrayRef<llvm::StringRef> metrics)
      : evaluator(evaluator), metrics(metrics), builder(&evaluator.program.context) {}

  bool read(const Value &value, SourceRange range) {
    if (!value.isSequence())
      return addCall(value, range, /*isLast=*/true);
    if (value.items().empty())
      return fail(range, value);
    for (const Value &item : value.items())
      if (!addCall(item, range, &item == &value.items().back()))
        return false;
    return true;
  }

  mlir::ArrayAttr take() { return builder.getArrayAttr(parts); }

private:
  struct Numbers {
    double a = 0, b = 0, c = 0;
  };

  bool fail(SourceRange range, const Value &found) {
    if (!found.isPoison())
      evaluator
          .error(range, "'schedule' is such as cosine(epochs=10), or a sequence of them, found " +
                            describe(found))
          .hint(hintForPlan(found, Category::Schedule));
    return false;
  }

  bool addCall(const Value &value, SourceRange range, bool isLast) {
    const Plan *plan = value.getIf<Plan>();
    if (!plan || (*plan)->maker->category != Category::Schedule)
      return fail(range, value);
    const PlanValue &call = **plan;
    llvm::StringRef name = call.maker->name;
    if (name == "plateau")
      return isLast ? addPlateau(call) : failEndless(call);
    bool inSteps = !call.get("steps").isNone();
    const Value &distance = call.get(inSteps ? "steps" : "epochs");
    if (name == "multistep")
      return isLast ? addFalls(distance.items(), !inSteps, call.number("factor"))
                    : failEndless(call);
    double n = distance.isNone() ? 1 : distance.number();
    auto [kind, numbers, ends] = curveOf(call);
    ends |= name == "constant" && !distance.isNone();
    if (!isLast && !ends)
      return failEndless(call);
    add(kind, !inSteps, isLast ? 0 : n, n, numbers);
    return true;
  }

  bool failEndless(const PlanValue &call) {
    evaluator.error(call.range, "'" + call.maker->name + "' has no end, so no part can follow it")
        .hint(call.maker->name == "constant" ? "constant(epochs=6)" : "put it last");
    return false;
  }

  struct Curve {
    program::ScheduleKind kind;
    Numbers numbers;
    bool ends;
  };

  /// The curve of every schedule but multistep.
  static Curve curveOf(const PlanValue &call) {
    using Kind = program::ScheduleKind;
    llvm::StringRef name = call.maker->name;
    if (name == "step")
      return {Kind::Step, {call.number("factor")}, false};
    if (name == "exponential")
      return {Kind::Exponential, {call.number("factor")}, false};
    if (name == "polynomial")
      return {Kind::Polynomial, {call.number("power"), call.number("end")}, true};
    if (name == "cosine")
      return {Kind::Cosine, {call.number("end")}, true};
    if (name == "cosine_restarts")
      return {Kind::CosineRestarts, {call.number("end"), call.number("multiply")}, false};
    if (name == "one_cycle")
      return {
          Kind::OneCycle, {call.number("peak"), call.number("start"), call.number("end")}, true};
    if (name == "cyclic")
      return {Kind::Cyclic, {call.number("low")}, false};
    if (name == "warmup")
      return {Kind::Warmup, {call.number("start")}, true};
    return {Kind::Constant, {1}, false};
  }

  bool addPlateau(const PlanValue &call) {
    const std::string &metric = call.get("metric").as<std::string>();
    if (!llvm::is_contained(metrics, metric)) {
      std::string near = didYouMean(metric, metrics);
      evaluator.error(call.ranges[0], "evaluations yield no '" + metric + "'")
          .hint(metrics.empty() ? "the loss and the metrics of the section itself are evaluated"
                : near.empty()  ? "they yield '" + llvm::join(metrics, "', '") + "'"
                                : near);
      return false;
    }
    Numbers numbers{call.number("factor"), call.number("patience"),
                    call.get("mode").as<std::string>() == "max" ? 1.0 : 0.0};
    add(program::ScheduleKind::Plateau, /*inEpochs=*/true, 0, 0, numbers, metric);
    return true;
  }

  /// A level for each time between two falls.
  bool addFalls(llvm::ArrayRef<Value> times, bool inEpochs, double factor) {
    double level = 1, start = 0;
    for (const Value &time : times) {
      add(program::ScheduleKind::Constant, inEpochs, time.number() - start, 0, {level});
      start = time.number();
      level *= factor;
    }
    add(program::ScheduleKind::Constant, inEpochs, 0, 0, {level});
    return true;
  }

  void add(program::ScheduleKind kind, bool inEpochs, double length, double n, Numbers numbers,
           llvm::StringRef metric = "") {
    auto real = [&](double number) { return builder.getF64FloatAttr(number); };
    parts.push_back(program::SchedulePartAttr::get(
        builder.getContext(), kind, inEpochs, real(length), real(n), real(numbers.a),
        real(numbers.b), real(numbers.c),
        metric.empty() ? mlir::StringAttr() : builder.getStringAttr(metric)));
  }

  Evaluator &evaluator;
  llvm::ArrayRef<llvm::StringRef> metrics;
  mlir::Builder builder;
  llvm::SmallVector<mlir::Attribute> parts;
};
} // namespace

mlir::ArrayAttr scheduleAttribute(Evaluator &evaluator, const ast::Section &section,
                                  const Bound &schedule) {
  const Plan *plan = schedule.value.getIf<Plan>();
  if (schedule.value.isNone() || (plan && (*plan)->maker->name == "constant"))
    return {};
  llvm::SmallVector<llvm::StringRef> metrics;
  if (findBinding(section.body, "loss"))
    metrics.push_back("loss");
  for (const ast::Statement *statement : section.body)
    if (auto *metric = llvm::dyn_cast<ast::MetricStatement>(statement))
      metrics.push_back(metric->name.text);
  ScheduleReader reader(evaluator, metrics);
  return reader.read(schedule.value, schedule.range) ? reader.take() : mlir::ArrayAttr();
}

} // namespace dlc::frontend
